"""The gradient of each row of a PyTorch module, by opacus, an optional extra: its optimisers and noise are not used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hekat.errors import InputError
from hekat.model.module_tensors import to_float64
from hekat.model.parameters import FloatArray, Parameters

# Gradients of so many values are held at once: 512 MiB of float64.
MOST_VALUES = 2**26


@contextmanager
def row_gradients(module: Any, name: str) -> Iterator[Any]:
    """A wrapped `module`: after a backward pass each parameter's `grad_sample` holds a row's gradient in each entry.

    Raises InputError without the extra, and for a module that mixes rows.
    """
    try:
        from opacus import GradSampleModule
    except ImportError as error:
        raise InputError(
            "opacus is not installed, which takes the gradient of each row of a PyTorch module",
            expected="the extra 'privacy-torch'",
            got=type(error).__name__,
            cure="pip install 'hekat[privacy-torch]'",
        ) from None
    try:
        wrapped = GradSampleModule(module, loss_reduction="sum", strict=True)
    except (NotImplementedError, ValueError) as error:
        raise InputError(
            f"the rows of model {name} have no gradients of their own",
            expected="layers that treat each row by itself, without running statistics",
            got=type(error).__name__,
            cure="take GroupNorm or LayerNorm in place of batch normalisation, or privacy.unit = 'party'",
        ) from None
    try:
        yield wrapped
    finally:
        wrapped._close()  # takes its hooks and attributes off the module again


def clipped_sum(
    tensors: dict[str, Any], factors_of: Callable[[FloatArray], FloatArray], names: Collection[str], row_count: int
) -> Parameters:
    """The sum over rows of factor times gradient, in float64, from the `grad_sample` of each named tensor."""
    parts = {
        key: to_float64(tensors[key].grad_sample)
        for key in names
        if getattr(tensors[key], "grad_sample", None) is not None
    }
    with np.errstate(over="ignore", invalid="ignore"):
        squares = sum((np.einsum("ij,ij->i", part, part) for part in _as_rows(parts, row_count)), np.zeros(row_count))
        factors = factors_of(np.sqrt(squares))
    good = factors > 0
    sums = {key: np.tensordot(factors[good], part[good], axes=1) for key, part in parts.items()}
    return {key: sums[key] if key in sums else np.zeros(tuple(tensors[key].shape)) for key in names}


def _as_rows(parts: dict[str, FloatArray], row_count: int) -> Iterator[FloatArray]:
    for part in parts.values():
        yield part.reshape(row_count, -1)
