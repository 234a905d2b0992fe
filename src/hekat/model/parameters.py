"""Named float64 arrays, the common form of models, optimisers and updates, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FloatArray = npt.NDArray[np.float64]
Features: TypeAlias = "FloatArray | csr_array"
Labels = npt.NDArray[np.float64] | npt.NDArray[np.int64]
Parameters = dict[str, FloatArray]
Shapes = dict[str, tuple[int, ...]]


def shapes_of(arrays: Mapping[str, npt.NDArray[Any]]) -> Shapes:
    """The shape of each named array."""
    return {name: array.shape for name, array in arrays.items()}


def check_same_shapes(what: str, arrays: Mapping[str, npt.NDArray[Any]], expected: Shapes) -> None:
    """Raise InputError unless `arrays` has exactly the names, shapes and the dtype float64 that are `expected`."""
    missing = sorted(expected.keys() - arrays.keys())
    strangers = sorted(arrays.keys() - expected.keys())
    if missing or strangers:
        raise InputError(
            f"{what}: other names than the model's",
            expected=", ".join(expected),
            got=_name_difference(missing, strangers),
            cure="use arrays made by and for this model",
        )
    for name, shape in expected.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64:
            raise InputError(
                f"{what}: {name} has the wrong layout",
                expected=f"shape {shape} of float64",
                got=f"shape {array.shape} of {array.dtype}",
                cure="use arrays made by and for this model, with the same columns and classes",
            )


def _name_difference(missing: list[str], strangers: list[str]) -> str:
    parts = [f"no {', '.join(missing)}"] if missing else []
    if strangers:
        parts.append(f"unknown {', '.join(strangers)}")
    return " and ".join(parts)
