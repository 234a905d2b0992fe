"""Non-negative integers (weights, counts, losses) spread over slots as digits, so that sums stay exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LimbArray, limbs_from_ints
from hekat.errors import BoundError

IntArray = npt.NDArray[np.int64]

# The largest, of 256 parties with 2^40 rows each, is validation's sum of losses or of squared labels: 188 bits.
PLAIN_COUNTER_LIMBS = 4


def digit_count(maximum: int, level: int) -> int:
    """Digits in base level + 1 that hold every integer in [0, maximum]; each digit is at most `level`."""
    count, reach = 1, level + 1
    while reach <= maximum:
        count, reach = count + 1, reach * (level + 1)
    return count


def encode_counters(values: Sequence[int], maxima: Sequence[int], level: int) -> IntArray:
    """The counters' digits one after the other, least significant first, each in [0, level].

    Raises BoundError where a counter is outside [0, maximum]; it does not print the value.
    """
    digits: list[int] = []
    for index, (value, maximum) in enumerate(zip(values, maxima, strict=True)):
        if not 0 <= value <= maximum:
            raise BoundError(
                f"counter {index} is outside its public range",
                expected=f"0 to {maximum}",
                got="a value outside",
                cure="raise the job's bound (weight_max for row counts)",
            )
        rest = value
        for _ in range(digit_count(maximum, level)):
            rest, digit = divmod(rest, level + 1)
            digits.append(digit)
    return np.array(digits, dtype=np.int64)


def decode_counter_sums(digit_sums: IntArray, maxima: Sequence[int], level: int) -> list[int]:
    """The sums of the counters from the sums of their digits; exact however large the digit sums grew."""
    sums: list[int] = []
    start = 0
    for maximum in maxima:
        width = digit_count(maximum, level)
        digits = digit_sums[start : start + width]
        sums.append(sum(int(digit) * (level + 1) ** place for place, digit in enumerate(digits)))
        start += width
    return sums


def counter_slots(maxima: Sequence[int], level: int) -> int:
    """Slots that the counters take together."""
    return sum(digit_count(maximum, level) for maximum in maxima)


def plain_counters(values: Sequence[int]) -> LimbArray:
    """Counters as they travel unencrypted: limbs, shape (count, PLAIN_COUNTER_LIMBS)."""
    return limbs_from_ints(values, PLAIN_COUNTER_LIMBS)
