"""Shamir's sharing of a ring element's coefficients over F_65521, of numbers that sets of members hold together.

For each set T of t - 1 of the c members there are numbers r_T that the others hold. g_T is the polynomial of degree
t - 1 that is 1 at 0 and 0 at the points of T. So the sum of all r_T g_T(x) is, at a member's point x, a sum over what
this member holds: a share of r = sum of r_T, on a polynomial of degree < t that is uniform where the r_T are. With the
offset, secret - r, which everybody may know, it is a share of the secret. Random masks are shared beside the
coefficients, without an offset, for the share check.

Source: Shamir, How to share a secret, CACM 1979, coefficient by coefficient; Cramer, Damgaard and Ishai, TCC 2005,
section 3 (from replicated shares to Shamir's).
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.opening.field import (
    PRIME,
    FieldArray,
    multiply_matrices,
    reduce_wide,
    to_field,
    wipe,
)

CHECKS = 8


@cache
def lacking_sets(member_count: int, threshold: int) -> tuple[tuple[int, ...], ...]:
    """Every set T of threshold - 1 of the points 1 to member_count, in lexicographic order. Raises InputError."""
    if not 1 <= threshold <= member_count < PRIME:
        raise InputError(
            "a threshold that no sharing has",
            expected="1 <= threshold <= members",
            got=f"threshold {threshold} of {member_count} members",
        )
    return tuple(combinations(range(1, member_count + 1), threshold - 1))


@cache
def held_sets(point: int, member_count: int, threshold: int) -> tuple[int, ...]:
    """The places, in `lacking_sets`, of the sets T without the member at `point`, which holds their numbers."""
    sets = lacking_sets(member_count, threshold)
    return tuple(place for place, lacking in enumerate(sets) if point not in lacking)


def hide_secret(coefficients: npt.NDArray[np.signedinteger[Any]], numbers: FieldArray) -> FieldArray:
    """The offset, (N,): each coefficient less the sum of its numbers r_T.

    `coefficients`: N integers of at most 32760 in size; `numbers`: (sets, N + 8), a row for each T, whose last 8 are
    of masks and unused here. Raises InputError.
    """
    in_range = coefficients.ndim == 1 and bool(np.all(np.abs(coefficients.astype(np.int64)) <= PRIME // 2))
    if not in_range:
        raise InputError("not a secret to share", expected=f"a vector of integers within +-{PRIME // 2}")
    total = numbers[:, : len(coefficients)].sum(axis=0, dtype=np.uint64)
    pads = reduce_wide(total, 16 + len(numbers).bit_length())
    offset = reduce_wide(to_field(coefficients).astype(np.uint64) + (np.uint64(PRIME) - pads), 17)
    wipe(total, pads)
    return offset


def share_at(point: int, member_count: int, threshold: int, numbers: FieldArray, offset: FieldArray) -> FieldArray:
    """The share of the member at `point`, (N + 8,), from the numbers that it holds, (held sets, N + 8), and the offset.

    Column n < N is f_n(point) of a polynomial f_n of degree < threshold with f_n(0) = coefficient n; the last 8
    columns share 8 masks likewise, which `share_check` uses up.
    """
    share: FieldArray = multiply_matrices(_weights(point, member_count, threshold), numbers)[0]
    degree = len(offset)
    share[:degree] = reduce_wide(share[:degree].astype(np.uint64) + offset, 17)
    return share


@cache
def _weights(point: int, member_count: int, threshold: int) -> FieldArray:
    """g_T(point) for the sets T that the member holds, as one row."""
    sets = lacking_sets(member_count, threshold)
    held = (sets[place] for place in held_sets(point, member_count, threshold))
    row = [prod((lacking - point) * pow(lacking, -1, PRIME) for lacking in missing) % PRIME for missing in held]
    weights = np.array([row], dtype=np.uint16)
    weights.flags.writeable = False
    return weights
