"""Non-negative integers (weights, counts, losses) spread over slots as digits, so that sums stay exact.

The sum of each digit opens by itself. Where a counter takes several, their sums would tell more than the counter's:
how much was carried, of slots of one bit how many contributors have each single bit set. So all digits but the last of
such a counter are drawn at random from the numbers that leave its value possible (`residues`), the first one in the
class of the value mod the base, each further one in the class of what is left. What opens then follows from the sum of
the counter alone: given the sums of the lower digits, a digit's sum depends on the sum of what is left, which these and
the counter's sum determine. This needs slots of 0 to 127 at least; narrower ones open their digits as they are.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hekat.codec.residues import RESIDUE_ROOM, hide_residues
from hekat.engine.limbs import LimbArray, limbs_from_ints
from hekat.errors import BoundError

IntArray = npt.NDArray[np.int64]

# The largest, of 256 parties with 2^40 rows each, is validation's sum of losses or of squared labels: 188 bits.
PLAIN_COUNTER_LIMBS = 4
# Maxima and slots are few in a run, and asked for once for every counter of every sum.
_KEPT = 1024
HIDING_BITS = 8
"""Bits of the narrowest values, of either sign, in whose slots digits hide what they do not say."""


@dataclass(frozen=True)
class _Digits:
    """Base of the digits, and what is added to the rest after each digit so that it stays non-negative."""

    base: int
    carry: int

    @property
    def are_hidden(self) -> bool:
        return self.carry > 0

    def following(self, rest: int) -> int:
        """The largest rest after a digit of `rest` at most."""
        return rest // self.base + self.carry


@lru_cache(maxsize=_KEPT)
def _digits_in(highest: int) -> _Digits:
    """How slots of 0 to `highest` hold digits."""
    room = (highest + 1) // RESIDUE_ROOM
    if room < 2:
        return _Digits(highest + 1, 0)
    return _Digits(1 << (room.bit_length() - 1), RESIDUE_ROOM - 1)


@lru_cache(maxsize=_KEPT)
def digit_count(maximum: int, highest: int) -> int:
    """Digits that hold every integer in [0, maximum], where a slot holds 0 to `highest`."""
    count = 1
    while maximum > highest:
        count, maximum = count + 1, _digits_in(highest).following(maximum)
    return count


def encode_counters(values: Sequence[int], maxima: Sequence[int], highest: int) -> IntArray:
    """The counters' digits one after the other, least significant first, each in [0, highest]; random where hidden.

    Raises BoundError where a counter is outside [0, maximum]; it does not print the value.
    """
    _check_ranges(values, maxima)
    digits = _digits_in(highest)
    counts = [digit_count(maximum, highest) for maximum in maxima]
    plain = [digit for value, count in zip(values, counts, strict=True) for digit in _split(value, count, digits.base)]
    encoded = np.array(plain, dtype=np.int64)
    if not digits.are_hidden:
        return encoded
    left = np.array(counts, dtype=np.int64) - 1
    places = np.cumsum(left + 1) - left - 1
    while (has_more := left > 0).any():
        places, left = places[has_more], left[has_more] - 1
        rests = encoded[places]
        drawn = encoded[places] = hide_residues(rests % digits.base, digits.base)
        places += 1
        encoded[places] += (rests - drawn) // digits.base + digits.carry
    return encoded


def decode_counter_sums(digit_sums: IntArray, maxima: Sequence[int], highest: int, contributor_count: int) -> list[int]:
    """The sums of so many contributors' counters from the sums of their digits; exact however large these grew."""
    digits = _digits_in(highest)
    carries = contributor_count * digits.carry
    sums: list[int] = []
    start, found = 0, digit_sums.tolist()
    for maximum in maxima:
        end = start + digit_count(maximum, highest)
        rest = 0
        for digit in reversed(found[start:end]):
            rest = rest * digits.base + digit - carries
        sums.append(rest + carries)
        start = end
    return sums


def counter_slots(maxima: Sequence[int], highest: int) -> int:
    """Slots that the counters take together."""
    return sum(count * digit_count(maximum, highest) for maximum, count in Tally(maxima).items())


def plain_counters(values: Sequence[int]) -> LimbArray:
    """Counters as they travel unencrypted: limbs, shape (count, PLAIN_COUNTER_LIMBS)."""
    return limbs_from_ints(values, PLAIN_COUNTER_LIMBS)


def _split(value: int, count: int, base: int) -> Iterator[int]:
    """`count` digits, least significant first; the last one is all that is left."""
    for _ in range(count - 1):
        value, digit = divmod(value, base)
        yield digit
    yield value


def _check_ranges(values: Sequence[int], maxima: Sequence[int]) -> None:
    for index, (value, maximum) in enumerate(zip(values, maxima, strict=True)):
        if not 0 <= value <= maximum:
            raise BoundError(
                f"counter {index} is outside its public range",
                expected=f"0 to {maximum}",
                got="a value outside",
                cure="raise the job's bound (weight_max for row counts)",
            )
