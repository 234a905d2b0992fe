"""The length of an update: one L2 norm over all of its tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


def norm_of(tensors: Mapping[str, npt.NDArray[np.floating[Any]]]) -> float:
    """The L2 norm of all values together; infinity where one is not finite, or the norm is beyond floats.

    Args:
        tensors: of any shapes; sums are taken in float64.

    Examples:
        >>> import numpy as np
        >>> from hekat.privacy.norm import norm_of
        >>> norm_of({"a": np.array([3.0]), "b": np.array([[4.0]])})
        5.0
    """
    with np.errstate(over="ignore", invalid="ignore"):
        norm = math.sqrt(sum(square_sum(values) for values in tensors.values()))
    return norm if math.isfinite(norm) else math.inf


def square_sum(values: npt.NDArray[np.floating[Any]]) -> float:
    """The sum of all squares, in float64."""
    flat = values.astype(np.float64, copy=False).reshape(-1)
    return float(np.dot(flat, flat))
