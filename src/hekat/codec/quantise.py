"""Maps clipped real values to a few signed or offset integer levels, and sums of levels back."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from hekat.array_module import array_module, as_array, on_host
from hekat.codec.clip import FloatArray, as_finite_floats, check_alpha
from hekat.errors import EngineError, InputError

IntArray: TypeAlias = npt.NDArray[np.int64]
Rounding: TypeAlias = Literal["nearest", "stochastic"]

MIN_VALUE_BITS = 1
MAX_VALUE_BITS = 32


def check_value_bits(bits: int) -> None:
    """Raise InputError unless bits is an integer from 1 to 32."""
    if isinstance(bits, bool) or not isinstance(bits, int) or not MIN_VALUE_BITS <= bits <= MAX_VALUE_BITS:
        raise InputError(
            "the number of bits per value was refused",
            expected=f"an integer from {MIN_VALUE_BITS} to {MAX_VALUE_BITS}",
            got=repr(bits),
            cure="16 suits most training, 8 saves bytes",
        )


def check_rounding(rounding: str) -> None:
    """Raise InputError unless `rounding` is one of the two ways."""
    if rounding not in get_args(Rounding):
        raise InputError("unknown rounding", expected="'nearest' or 'stochastic'", got=repr(rounding))


def level_bound(bits: int) -> int:
    """The largest level L; values become integers in [-L, L].

    L = 2^(bits-1) - 1, or 1 for one bit (levels -1 and +1).
    """
    check_value_bits(bits)
    return 1 if bits == 1 else (1 << (bits - 1)) - 1


def level_interval_count(bits: int) -> int:
    """Steps from -alpha to alpha: 2^bits - 2, with a level at zero; one step for one bit, without a zero."""
    return 1 if bits == 1 else 2 * level_bound(bits)


def quantise(
    x: npt.ArrayLike, alpha: float, bits: int, rounding: Rounding = "nearest", rng: np.random.Generator | None = None
) -> IntArray:
    """The levels of values in [-alpha, alpha]: x * L / alpha rounded, int64 in [-L, L], shape of `x`.

    `nearest` takes ties to the even level; `stochastic` rounds up with the probability that makes the mean exact, with
    randomness from `rng` (by default a generator seeded by the operating system). Values on a GPU need a
    cupy.random.Generator, and only `nearest` gives the same levels there. One bit: `nearest` is the sign (zero counts
    as positive), `stochastic` is +1 with probability (1 + x / alpha) / 2.

    Raises InputError for values beyond alpha (clip first), NaN, infinite, and for alpha or bits out of range.
    """
    level = level_bound(bits)
    check_rounding(rounding)
    alpha = check_alpha(alpha)
    floats = _within(x, alpha)
    if bits > 1:
        return _round(floats * (level / alpha), -level, level, rounding, rng)
    # One bit: the offset form with levels 0 and 1, mapped to -1 and +1.
    if rounding == "nearest":
        upper = (floats >= 0).astype(np.int64)
    else:
        upper = _round(floats * (0.5 / alpha) + 0.5, 0, 1, rounding, rng)
    return 2 * upper - 1


def quantise_offset(
    x: npt.ArrayLike, alpha: float, bits: int, rounding: Rounding = "nearest", rng: np.random.Generator | None = None
) -> IntArray:
    """The offset levels of values in [-alpha, alpha]: (x + alpha)(2^bits - 1)/(2 alpha) rounded, in [0, 2^bits - 1].

    Zero is no level: it lies half a step from the nearest ones. Rounding and Raises as `quantise`.
    Source: FLBooster (ICDE 2023), Eqs. 6-7, with the division by 2 alpha that makes the range the bits' own.
    """
    check_value_bits(bits)
    check_rounding(rounding)
    alpha = check_alpha(alpha)
    highest = (1 << bits) - 1
    return _round((_within(x, alpha) + alpha) * (highest / (2 * alpha)), 0, highest, rounding, rng)


def dequantise(levels: IntArray, alpha: float, bits: int) -> FloatArray:
    """Levels, or sums of levels of any number of contributors, as float64: level * alpha / L."""
    floats: FloatArray = as_array(levels).astype(np.float64, copy=False)
    return floats * (check_alpha(alpha) / level_bound(bits))


def dequantise_offset(sums: IntArray, alpha: float, bits: int, addend_count: int) -> FloatArray:
    """Sums of offset levels of exactly `addend_count` contributors as float64, without the contributors' offsets.

    Source: FLBooster (ICDE 2023), Eqs. 6-7, inverted for a sum.
    """
    check_value_bits(bits)
    highest = (1 << bits) - 1
    # 2 sum - count * highest is an exact integer below 2^49: only the last product rounds.
    centred: IntArray = 2 * as_array(sums).astype(np.int64, copy=False) - addend_count * highest
    return centred.astype(np.float64) * (check_alpha(alpha) / highest)


def generator_for(values: npt.NDArray[Any], rng: Any) -> Any:
    """A generator that works where `values` lie: `rng`, or one seeded by the operating system where `rng` is None.

    Raises InputError for a host generator with values on a GPU: random numbers are not copied between devices. Raises
    EngineError where the GPU has no generator of its own.
    """
    random = array_module(values).random
    if on_host(values):
        return random.default_rng() if rng is None else rng
    try:
        if rng is None:
            return random.default_rng()
        is_own = isinstance(rng, random.Generator)
    except ImportError as error:
        raise EngineError(
            "there are no random numbers on this GPU: stochastic rounding is not available",
            expected="NVIDIA's cuRAND, which CuPy makes random numbers with",
            got=str(error),
            cure="install cuRAND (nvidia-curand), round to nearest, or bring the values to the host first",
        ) from error
    if not is_own:
        raise InputError(
            "the random generator does not belong to the values",
            expected="a cupy.random.Generator, as the values are on a GPU",
            got=f"a {type(rng).__module__}.{type(rng).__name__}",
            cure="leave rng out, or make one with cupy.random.default_rng",
        )
    return rng


def _within(x: npt.ArrayLike, alpha: float) -> FloatArray:
    floats = as_finite_floats(x)
    if floats.size and (floats.max() > alpha or floats.min() < -alpha):
        raise InputError(
            "values lie beyond the clipping bound",
            expected="|x| <= alpha",
            got=f"{int(array_module(floats).count_nonzero(abs(floats) > alpha))} of {floats.size} beyond",
            cure="clip(x, alpha) first; it counts them",
        )
    return floats


def _round(
    scaled: FloatArray, lowest: int, highest: int, rounding: Rounding, rng: np.random.Generator | None
) -> IntArray:
    """The integers next to `scaled` (overwritten), within [lowest, highest].

    `scaled` may pass the range by a few units in the last place: nearest cannot leave it, stochastic is held inside.
    """
    xp = array_module(scaled)
    if rounding == "nearest":
        nearest: IntArray = xp.rint(scaled, out=scaled).astype(np.int64)
        return nearest
    generator = generator_for(scaled, rng)
    floor = xp.floor(scaled)
    # scaled - floor is exact, so the chance to round up is the fraction itself to 2^-53: no bias at any magnitude.
    up = xp.asarray(generator.random(scaled.shape)) < xp.subtract(scaled, floor, out=scaled)
    levels: IntArray = xp.clip(floor.astype(np.int64) + up, lowest, highest)
    return levels
