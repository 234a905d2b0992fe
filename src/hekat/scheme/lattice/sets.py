"""The parameter sets by name, and the choice of one for a job.

Names: A for N = 2048 and one prime, C for N = 4096 and two primes; then the bits of a value, then the most parties.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from hekat.errors import InputError
from hekat.scheme.lattice.parameters import MAX_VALUE_BITS, LatticeParameters, make_parameters

# Value bits, parties, primes, slots, dropped bits, dropped bits of a sum.
_Row = tuple[int, int, tuple[int, ...], int, int, int]

_PRIME_50 = 1125899906826241
_PRIMES_48 = (281474976694273, 281474976636929)

# Primes are the largest below a power of two that fit their degree, so that Delta is a power of two less one.
# Where few parties add up, slots and noise are smaller, and so is what every link carries: sets for four.
_A_SETS: tuple[_Row, ...] = (
    (8, 4, (_PRIME_50,), 4, 7, 8),
    (16, 4, (70368744067073,), 2, 7, 8),
    (24, 4, (68719464449,), 1, 7, 8),
    (32, 4, (17592186028033,), 1, 7, 8),
    (8, 32, (_PRIME_50,), 3, 4, 7),
    (8, 128, (35184372060161,), 2, 7, 13),
    (16, 16, (_PRIME_50,), 2, 4, 6),
    (16, 128, (274877820929,), 1, 7, 13),
    (16, 256, (1099511590913,), 1, 7, 14),
    (24, 128, (70368744067073,), 1, 7, 13),
    (24, 256, (281474976694273,), 1, 7, 14),
    (32, 32, (_PRIME_50,), 1, 7, 11),
)
_C_SETS: tuple[_Row, ...] = (
    (8, 256, _PRIMES_48, 5, 7, 14),
    (16, 128, (4398046486529, 4398046240769), 3, 7, 13),
    (16, 256, (17592186028033, 17592185659393), 3, 7, 14),
    (24, 128, (549755731969, 274877816833), 2, 7, 13),
    (24, 256, (1099511480321, 1099511390209), 2, 7, 14),
    (32, 128, (140737488273409, 70368743669761), 2, 7, 13),
    (32, 256, _PRIMES_48, 2, 7, 14),
)

SETS: Final[dict[str, LatticeParameters]] = {
    (name := f"{family}{bits}-{parties}"): make_parameters(
        name, bits, parties, degree, primes, slots, dropped_bits, sum_dropped_bits
    )
    for family, degree, rows in (("A", 2048, _A_SETS), ("C", 4096, _C_SETS))
    for bits, parties, primes, slots, dropped_bits, sum_dropped_bits in rows
}
MOST_PARTIES: Final = max(parameters.max_parties for parameters in SETS.values())


def choose_parameters(
    value_bits: int, party_count: int, value_count: int | None = None, *, degree_bytes: int = 0
) -> LatticeParameters:
    """The set with the smallest upload that holds sums of `party_count` values of `value_bits` bits.

    With `value_count` a ring of a smaller degree is taken where one contribution and `degree_bytes` for each
    coefficient of its secret are fewer bytes there.

    Args:
        value_bits: Bits of one value, signed, from 1 to 32.
        party_count: How many parties add up, from 1 to 256.
        value_count: How many values one contribution has, from 1; None for many.
        degree_bytes: What else is sent for each coefficient of a secret, in bytes; 2 where it is shared out.

    Returns:
        One of `SETS`.

    Raises:
        InputError: A number is out of range.

    Examples:
        >>> import hekat
        >>> hekat.lattice.choose_parameters(8, 20).name
        'A8-32'
        >>> [hekat.lattice.choose_parameters(16, 200, count, degree_bytes=2).name for count in (1000, 100_000)]
        ['A16-256', 'C16-256']
    """
    if not 1 <= value_bits <= MAX_VALUE_BITS:
        raise InputError("bits of a value refused", expected=f"1 to {MAX_VALUE_BITS}", got=str(value_bits))
    if not 1 <= party_count <= MOST_PARTIES:
        raise InputError(
            "no parameter set of the lattice scheme is for so many parties",
            expected=f"1 to {MOST_PARTIES}",
            got=str(party_count),
            cure="use protection 'paillier', which adds up any number of parties",
        )
    if value_count is not None and value_count < 1:
        raise InputError("number of values refused", expected="1 or more", got=str(value_count))
    best, smaller = _best_of_many(value_bits, party_count)
    if value_count is None or smaller is None:
        return best

    def sent_bytes(parameters: LatticeParameters) -> int:
        return parameters.form.written_bytes(value_count) + degree_bytes * parameters.form.ring.degree

    return min(best, smaller, key=sent_bytes)


@cache
def _best_of_many(value_bits: int, party_count: int) -> tuple[LatticeParameters, LatticeParameters | None]:
    """The smallest set for many values, and the smallest of the sets of smaller rings, if there are any."""
    fitting = [p for p in SETS.values() if p.value_bits >= value_bits and p.max_parties >= party_count]
    best = min(fitting, key=_size_of_many)
    smaller = [p for p in fitting if p.form.ring.degree < best.form.ring.degree]
    return best, min(smaller, key=_size_of_many, default=None)


def _size_of_many(parameters: LatticeParameters) -> tuple[float, float]:
    return parameters.upload_bits, parameters.download_bits
