"""Floats to levels and sums of levels to floats in one pass, without a copy of the whole.

The same numbers as `clip`, `quantise` and `dequantise`, for values that stream through block by block.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.array_module import array_module, on_host
from hekat.codec.clip import FloatArray, as_finite_floats
from hekat.codec.quantise import IntArray, Rounding, check_rounding, generator_for
from hekat.errors import InputError

LevelArray = npt.NDArray[np.int32]
AnyFloatArray = npt.NDArray[np.floating[Any]]

MAX_LEVEL = (1 << 31) - 1
# So many float64 values stay in the processor's second-level cache from one pass to the next.
BLOCK_VALUES = 32768


def quantise_levels(
    values: npt.NDArray[Any],
    factor: float,
    level: int,
    out: LevelArray,
    rounding: Rounding = "nearest",
    rng: np.random.Generator | None = None,
) -> int:
    """Write values * factor, rounded, then limited to [-level, level], into `out`; return how many were limited.

    `values` and `out` are vectors of one length, 1 <= level < 2^31. With factor = level / alpha these are the levels
    of `quantise` for values within alpha, at two bits and more. Rounding and `rng` as there.
    Raises InputError for NaN, infinite and non-numeric values, for other arrays, and for a factor that is not finite
    and positive; part of `out` may be written by then.
    """
    check_rounding(rounding)
    factor = _check_factor(factor)
    if not 1 <= level <= MAX_LEVEL:
        raise InputError("the largest level was refused", expected=f"1 to {MAX_LEVEL}", got=str(level))
    _check_vectors(values, out, (np.dtype(np.int32),))
    as_finite_floats(values[:0])
    xp = array_module(values)
    generator = generator_for(values, rng) if rounding == "stochastic" else None
    # On a device every step is one kernel over all values.
    block_values = min(BLOCK_VALUES, values.size) if on_host(values) else values.size
    scratch = xp.empty(block_values, np.float64)
    limited_count = 0
    for start in range(0, values.size, max(block_values, 1)):
        block = values[start : start + block_values]
        scaled = scratch[: block.size]
        # A finite value may overflow to infinity here; such a value is limited anyway.
        with np.errstate(over="ignore", invalid="ignore"):
            xp.copyto(scaled, block)
            xp.multiply(scaled, factor, out=scaled)
            if generator is None:
                xp.rint(scaled, out=scaled)
            else:
                _round_at_random(scaled, generator)
            # Rounding never crosses an integer, so extremes within the level stay there. No comparison with NaN is
            # true.
            within = float(block.max()) * factor <= level and float(block.min()) * factor >= -level
        if not within:
            if not xp.isfinite(block).all():
                as_finite_floats(values)
            limited_count += int(xp.count_nonzero(scaled > level)) + int(xp.count_nonzero(scaled < -level))
            xp.clip(scaled, -level, level, out=scaled)
        xp.copyto(out[start : start + block.size], scaled, casting="unsafe")
    return limited_count


def dequantise_sums(sums: IntArray, factor: float, out: AnyFloatArray) -> None:
    """Write sums * factor into `out`, float32 or float64: computed in float64, rounded once more for float32.

    `sums`, int64, and `out` are vectors of one length. With factor = alpha / level as `dequantise`.
    Raises InputError for other arrays and for a factor that is not finite and positive.
    """
    factor = _check_factor(factor)
    _check_vectors(sums, out, (np.dtype(np.float32), np.dtype(np.float64)))
    if sums.dtype != np.int64:
        raise InputError("sums of levels refused", expected="a vector of int64", got=f"one of {sums.dtype}")
    array_module(sums).multiply(sums, factor, out=out, dtype=np.float64, casting="same_kind")


def _round_at_random(scaled: FloatArray, generator: Any) -> None:
    """Round in place, up with the chance that makes the mean exact: as `quantise` does, draw for draw."""
    xp = array_module(scaled)
    floor = xp.floor(scaled)
    up = xp.asarray(generator.random(scaled.size)) < xp.subtract(scaled, floor, out=scaled)
    xp.add(floor, up, out=scaled)


def _check_factor(factor: float) -> float:
    factor = float(factor)
    if not (math.isfinite(factor) and factor > 0.0):
        raise InputError(
            "the factor between values and levels was refused",
            expected="a finite positive number",
            got="another",
            cure="check the clipping bound and the weights it is made of",
        )
    return factor


def _check_vectors(source: npt.NDArray[Any], out: npt.NDArray[Any], dtypes: tuple[np.dtype[Any], ...]) -> None:
    """Raise InputError unless both are vectors of one length and `out` has one of `dtypes`."""
    if source.ndim != 1 or out.shape != source.shape or out.dtype not in dtypes:
        raise InputError(
            "vectors do not fit each other",
            expected=f"two of one length, the second of {' or '.join(dtype.name for dtype in dtypes)}",
            got=f"shape {source.shape}, and shape {out.shape} of {out.dtype}",
        )
