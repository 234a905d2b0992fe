"""Numbers to integers at a public scale and back: round(x * 2^scale_bits), exact apart from this rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hekat.array_module import array_module, on_host
from hekat.encrypted_array.plain import NumberArray, PlainValues
from hekat.engine.signed_limbs import IntegerArray, as_objects
from hekat.errors import BoundError, InputError

DEFAULT_SCALE_BITS = 32
MAX_SCALE_BITS = 8192

INT64_LIMIT = (1 << 63) - 1


def check_scale_bits(scale_bits: int) -> int:
    """`scale_bits` itself. Raises InputError unless it is an integer in [0, 8192]."""
    if isinstance(scale_bits, bool) or not isinstance(scale_bits, int | np.integer):
        raise InputError(
            "scale_bits is not an integer", expected="an integer number of bits", got=f"a {type(scale_bits).__name__}"
        )
    if not 0 <= scale_bits <= MAX_SCALE_BITS:
        raise InputError("scale_bits is out of range", expected=f"0 to {MAX_SCALE_BITS}", got=str(int(scale_bits)))
    return int(scale_bits)


def scale_bound(bound: int | float, scale_bits: int) -> int:
    """The integer bound of values within `bound` at a scale: |x| <= bound gives |round(x * 2^s)| <= the result.

    Raises InputError unless `bound` is a finite number > 0.
    """
    number = isinstance(bound, int | float | np.integer | np.floating) and not isinstance(bound, bool)
    if not number or not math.isfinite(bound) or bound <= 0:
        raise InputError(
            "bound refused",
            expected="a finite number above 0: the largest magnitude a value may have",
            got=f"a {type(bound).__name__}" if not number else "0, a negative or a non-finite number",
        )
    exact = int(bound) if isinstance(bound, int | np.integer) else bound
    return math.ceil(Fraction(exact) * (1 << scale_bits))


def encode_fixed_point(plain: PlainValues, scale_bits: int, bound: int | None) -> IntegerArray:
    """The integers round(v * 2^scale_bits), ties to even; within `bound` (scaled) where one is given.

    A plain array without a bound takes whatever its values need. Integers are exact at any scale.
    Raises BoundError where a value is beyond the bound, without the value.
    """
    scaled = _scale(plain.numbers, plain.is_real, scale_bits)
    if bound is not None:
        _check_within(scaled, bound, scale_bits)
    return scaled


def _scale(values: NumberArray, is_real: bool, scale_bits: int) -> IntegerArray:
    largest, xp = _largest_float(values), array_module(values)
    if is_real:
        if scale_bits < 62 and largest < math.ldexp(1.0, 62 - scale_bits):
            # A product with a power of two is exact here, so rint is the only rounding.
            rounded: IntegerArray = xp.rint(values * math.ldexp(1.0, scale_bits)).astype(np.int64)
            return rounded
        _check_on_host(values, scale_bits)
        return as_objects([round(Fraction(v) * (1 << scale_bits)) for v in values.ravel().tolist()]).reshape(
            values.shape
        )
    if values.dtype != object and scale_bits < 62 and largest < math.ldexp(1.0, 61 - scale_bits):
        integers: IntegerArray = xp.asarray(values * np.int64(1 << scale_bits), dtype=np.int64)
        return integers
    if values.dtype != object and scale_bits == 0:
        return values
    _check_on_host(values, scale_bits)
    return as_objects([int(v) << scale_bits for v in values.ravel().tolist()]).reshape(values.shape)


def _largest_float(values: NumberArray) -> float:
    """Largest magnitude, rounded; infinity for Python integers, which take the exact path."""
    if values.dtype == object:
        return math.inf
    return float(abs(values.astype(np.float64)).max()) if values.size else 0.0


def _check_on_host(values: NumberArray, scale_bits: int) -> None:
    """Raise InputError for values on a GPU that need more than 64 bits: only the host has Python integers."""
    if not on_host(values):
        raise InputError(
            "values on a GPU are too large for this scale",
            expected=f"magnitudes below 2^{61 - scale_bits}: there, scaled values are integers of 64 bits",
            got="a larger one",
            cure="use a smaller scale_bits=, or bring the values to the host first",
        )


def _check_within(scaled: IntegerArray, bound: int, scale_bits: int) -> None:
    if max_magnitude(scaled) <= bound:
        return
    if scaled.dtype == object:
        beyond = sum(1 for v in scaled.flat if abs(v) > bound)
    else:
        beyond = int(array_module(scaled).count_nonzero((scaled > bound) | (scaled < -bound)))
    unit = f"|x| <= 2^{max(bound.bit_length() - 1 - scale_bits, 0)}" if _is_power_of_two(bound) else "|x| <= bound"
    raise BoundError(
        "values are beyond the bound the encrypted array would carry",
        expected=unit,
        got=f"{beyond} of {scaled.size} values beyond it",
        cure="pass bound=, a public number that no value passes, or clip the values",
    )


def _is_power_of_two(value: int) -> bool:
    return value & (value - 1) == 0


def max_magnitude(integers: IntegerArray) -> int:
    """The largest |v|, 0 for an empty array; exact."""
    if integers.size == 0:
        return 0
    return max(abs(int(integers.max())), abs(int(integers.min())))


def negate_integers(integers: IntegerArray) -> IntegerArray:
    """-v for each, exact. Raises InputError for -2^63 on a GPU, because its words cannot hold 2^63."""
    if integers.dtype != object and max_magnitude(integers) <= INT64_LIMIT:
        return -integers
    _check_on_host(integers, 0)
    return -integers.astype(object)


def decode_fixed_point(integers: IntegerArray, scale_bits: int) -> npt.NDArray[np.float64]:
    """The float64 values v / 2^scale_bits, each rounded once. Raises BoundError where one is beyond float64."""
    if integers.dtype != object:
        if scale_bits < 900:
            # int64 to float64 rounds once; the power of two is exact (no subnormals at this scale).
            return np.asarray(np.ldexp(integers.astype(np.float64), -scale_bits))
        integers = integers.astype(object)
    one = 1 << scale_bits
    try:
        floats = [int(v) / one for v in integers.ravel().tolist()]
    except OverflowError:
        raise BoundError(
            "a decrypted value is beyond the range of float64",
            expected="magnitudes below 2^1024",
            got="a larger one",
            cure="keep sums and products of the encrypted values smaller, or encrypt integers",
        ) from None
    return np.array(floats, dtype=np.float64).reshape(integers.shape)


def decode_integers(integers: IntegerArray, bound: int) -> IntegerArray:
    """int64 where the bound fits into it, whatever the values are, else Python integers in an object array."""
    return integers.astype(np.int64 if bound <= INT64_LIMIT else object)
