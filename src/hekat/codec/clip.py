"""Clips real values to a bound before quantisation, and counts the values beyond it."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hekat.array_module import array_module, as_array
from hekat.errors import InputError

FloatArray: TypeAlias = npt.NDArray[np.float64]

# Inside this range alpha / level and level / alpha are normal float64 numbers for every supported level.
MIN_ALPHA = 2.0**-960
MAX_ALPHA = 2.0**960


def check_alpha(alpha: float) -> float:
    """The clipping bound as a float. Raises InputError unless it is a finite number in [2^-960, 2^960]."""
    problem = ""
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float, np.integer, np.floating)):
        problem = f"a {type(alpha).__name__}"
    else:
        # As a Python float at once: comparing a float32 would cast the limits to float32.
        alpha = float(alpha)
        if math.isnan(alpha):
            problem = "not a number"
        elif alpha <= 0:
            problem = "zero" if alpha == 0 else "a negative number"
        elif alpha > MAX_ALPHA:
            problem = "infinity" if math.isinf(alpha) else "a number above 2^960"
        elif alpha < MIN_ALPHA:
            problem = "a number below 2^-960"
    if problem:
        raise InputError(
            "the clipping bound alpha was refused",
            expected="a finite positive number",
            got=problem,
            cure="set alpha to the largest magnitude a value should keep",
        )
    return alpha


def as_finite_floats(x: npt.ArrayLike) -> FloatArray:
    """`x` as float64, any shape, where it lies: on the host or, for a tensor or array of a GPU, there.

    Raises InputError for a non-numeric dtype, NaN or infinity (count and first index).
    """
    values = as_array(x)
    if values.dtype.kind not in "fiu":
        raise InputError(
            "values are not real numbers",
            expected="an array of floats or integers",
            got=f"dtype {values.dtype}",
            cure="convert the values to float64 before encoding",
        )
    floats: FloatArray = values.astype(np.float64, copy=False)
    # NaN passes through min and max, infinities are extremes: two reductions see every bad value.
    if floats.size and not (math.isfinite(floats.min()) and math.isfinite(floats.max())):
        xp = array_module(floats)
        bad = ~xp.isfinite(floats)
        first = np.unravel_index(int(xp.argmax(bad)), bad.shape)
        raise InputError(
            "values are not finite",
            expected="finite numbers",
            got=f"{int(bad.sum())} NaN or infinite of {bad.size}, the first at index {tuple(int(i) for i in first)}",
            cure="remove or replace them: a NaN loss or a diverged step is the usual source",
        )
    return floats


def clip(x: npt.ArrayLike, alpha: float) -> tuple[FloatArray, int]:
    """The values limited to [-alpha, alpha], and how many were beyond it.

    Returns a new float64 array of the shape of `x`; the count is of values with |x| > alpha.
    Raises InputError for NaN, infinite or non-numeric values and for an alpha that is not finite and positive.
    """
    alpha = check_alpha(alpha)
    floats = as_finite_floats(x)
    xp = array_module(floats)
    if floats.size == 0 or (floats.max() <= alpha and floats.min() >= -alpha):
        return xp.array(floats, dtype=np.float64), 0
    beyond = int(xp.count_nonzero(floats > alpha)) + int(xp.count_nonzero(floats < -alpha))
    return xp.clip(floats, -alpha, alpha), beyond


def quantile_alpha(x: npt.ArrayLike, fraction: float, *, fixed_alpha: float | None = None) -> float:
    """The smallest observed magnitude that at least `fraction` of the values do not exceed, 0 < fraction <= 1.

    Where no positive magnitude qualifies (no values, or too many zeros), the result is `fixed_alpha`. Raises InputError
    where `fixed_alpha` is needed and not given, for a fraction out of range, and for values that `clip` refuses.
    """
    if not 0.0 < fraction <= 1.0:
        raise InputError(
            "the fraction of values to keep unclipped was refused",
            expected="a number above 0, at most 1",
            got="a number outside",
            cure="0.999 clips one value in a thousand",
        )
    floats = as_finite_floats(x)
    xp = array_module(floats)
    magnitudes = xp.abs(floats).reshape(-1)
    # ceil(fraction * size) values stay inside; 1e-9 keeps 0.9 * 10 = 9.000000000000002 from asking for ten.
    rank = max(1, math.ceil(fraction * magnitudes.size - 1e-9))
    alpha = float(xp.partition(magnitudes, rank - 1)[rank - 1]) if magnitudes.size else 0.0
    return check_alpha(alpha) if alpha > 0.0 else fall_back(fixed_alpha, "too many values are zero")


def fall_back(fixed_alpha: float | None, reason: str) -> float:
    """The fixed alpha, where nothing can be estimated. Raises InputError where the caller gave none."""
    if fixed_alpha is None:
        raise InputError(
            "no clipping bound can be estimated from these values",
            expected="values that spread around zero",
            got=reason,
            cure="give fixed_alpha, the bound to use in this case",
        )
    return check_alpha(fixed_alpha)
