"""At which scales the numbers of a round stand: the map, its offset, and the weights, all in Z_2^128.

A round's sum stands at 2^-OFFSET_BITS; arbiter and aggregator truncate their shares of it to 2^-WEIGHT_BITS, each by
itself. The share of the arbiter is uniform in Z_2^128. So for a number of magnitude below 2^l the result is off by one
unit at most, but with odds of 2^(l + 1 - 128), where it is off by 2^104 units. No weight may reach 2^MAGNITUDE_BITS,
which makes l = MAGNITUDE_BITS + OFFSET_BITS. Source: Mohassel and Zhang 2017 (SecureML), theorem 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import BoundError, DivergedError
from hekat.protocol.encrypted_model.arithmetic.affine_map import AffineMap
from hekat.protocol.shares.share_array import (
    RING_BITS,
    ShareArray,
    add_shares,
    from_integers,
    matmul_integers,
    negate,
    shift_left,
    shift_right,
)

FloatArray = npt.NDArray[np.float64]

MAP_BITS: Final = 24
WEIGHT_BITS: Final = 32
OFFSET_BITS: Final = MAP_BITS + WEIGHT_BITS
MAGNITUDE_BITS: Final = 16
LEAST_TRUNCATION_BITS: Final = 32
"""A run goes astray with odds of at most two to the minus so many."""
LARGEST_SIZE: Final = 4096
"""Numbers of one column of targets at most: a host's map has the square of it."""
_HALF_BITS: Final = 32


@dataclass(frozen=True)
class IntegerMap:
    """A host's part of a round: `matrix` (size, size) int64 at 2^-MAP_BITS, `offset` (size, K, 2) at 2^-OFFSET_BITS."""

    matrix: npt.NDArray[np.int64] = field(repr=False)
    offset: ShareArray = field(repr=False)

    def apply(self, z: ShareArray) -> ShareArray:
        """The map of z (size, K, 2) at 2^-WEIGHT_BITS, at 2^-OFFSET_BITS; exact mod 2^128."""
        return add_shares(matmul_integers(self.matrix, z), self.offset)


def round_map(made: AffineMap, share: float) -> IntegerMap:
    """`share` times the map, rounded to nearest. Raises DivergedError for an offset of 2^MAGNITUDE_BITS or more."""
    offset = share * made.offset
    if float(np.abs(offset).max()) >= 2.0**MAGNITUDE_BITS:
        refuse_magnitude("an offset of the map")
    matrix = np.rint(np.ldexp(share * made.matrix, MAP_BITS)).astype(np.int64)
    scaled = np.rint(np.ldexp(offset, OFFSET_BITS))
    high = np.floor(np.ldexp(scaled, -_HALF_BITS))
    low = scaled - np.ldexp(high, _HALF_BITS)
    both = [from_integers(part.astype(np.int64)) for part in (high, low)]
    return IntegerMap(matrix, add_shares(shift_left(both[0], _HALF_BITS), both[1]))


def truncate_arbiter_share(share: ShareArray) -> ShareArray:
    """From 2^-OFFSET_BITS to 2^-WEIGHT_BITS; together with the aggregator's less than one unit off."""
    return shift_right(share, MAP_BITS)


def truncate_aggregator_share(share: ShareArray) -> ShareArray:
    """As `truncate_arbiter_share`, of the other share: the negation is rounded."""
    return negate(shift_right(negate(share), MAP_BITS))


def truncation_bits(number_count: int, rounds: int) -> int:
    """The odds that a truncation of a run goes astray are at most two to the minus so many."""
    each = RING_BITS - (MAGNITUDE_BITS + OFFSET_BITS + 1)
    return each - (number_count * rounds - 1).bit_length()


def check_room(size: int, target_count: int, rounds: int) -> None:
    """Raise BoundError for models beyond LARGEST_SIZE, and for runs that a truncation may well lead astray."""
    if size > LARGEST_SIZE:
        raise BoundError(
            "an encrypted model has too many numbers",
            expected=f"at most {LARGEST_SIZE}: a weight of each column and the intercept, with momentum twice as many",
            got=str(size),
            cure="leave columns out, set training.momentum = 0, or protocol = 'horizontal'",
        )
    if truncation_bits(size * target_count, rounds) < LEAST_TRUNCATION_BITS:
        raise BoundError(
            "a truncation may lead the training astray",
            expected=f"odds of at most 2^-{LEAST_TRUNCATION_BITS} a run",
            got=f"2^-{truncation_bits(size * target_count, rounds)}: {size * target_count} numbers in {rounds} rounds",
            cure="train fewer rounds, or more local epochs a round",
        )


def refuse_magnitude(what: str) -> None:
    """Raise DivergedError for `what`, which reaches 2^MAGNITUDE_BITS."""
    raise DivergedError(
        f"{what} is too large for an encrypted model",
        expected=f"magnitudes below 2^{MAGNITUDE_BITS}",
        got="a larger one",
        cure="lower training.learning_rate or training.momentum, or set training.standardise = true",
    )
