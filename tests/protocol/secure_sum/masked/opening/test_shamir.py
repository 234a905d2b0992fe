"""Any t shares open a secret, and t - 1 of them are as likely for every other secret."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.protocol.secure_sum.masked.opening.sharing import random_elements, share_secret

from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.opening.committee import threshold_of
from hekat.protocol.secure_sum.masked.opening.field import PRIME, centre, evaluate_at
from hekat.protocol.secure_sum.masked.opening.shamir import (
    CHECKS,
    held_sets,
    hide_secret,
    lacking_sets,
    share_at,
)


@pytest.mark.parametrize("member_count", range(2, 8))
def test_any_t_of_c_shares_open(member_count: int) -> None:
    threshold = threshold_of(member_count)
    secret = np.arange(-21, 22, dtype=np.int8)
    shares = share_secret(secret, member_count, threshold)
    assert shares.shape == (member_count, len(secret) + CHECKS)
    assert shares.dtype == np.uint16
    for points in combinations(range(1, member_count + 1), threshold):
        rows = shares[[point - 1 for point in points], : len(secret)]
        assert np.array_equal(centre(evaluate_at(points, rows, [0])[0]), secret)


@pytest.mark.parametrize("member_count", range(2, 8))
def test_fewer_shares_fit_every_secret_once(member_count: int) -> None:
    """Exact: given t - 1 shares, each of the 65521 secrets has one polynomial, and each of the values of a further

    share belongs to one secret.
    """
    threshold = threshold_of(member_count)
    known = share_secret(np.array([17], dtype=np.int8), member_count, threshold)[: threshold - 1, :1]
    candidates = np.arange(PRIME, dtype=np.uint16)
    rows = np.concatenate([candidates[None, :], np.repeat(known, PRIME, axis=1)])
    points = list(range(threshold))
    missing = evaluate_at(points, rows, [threshold])[0]
    assert np.array_equal(np.sort(missing), candidates)
    # And these polynomials do have the candidate at 0.
    back = evaluate_at([*points[1:], threshold], np.concatenate([rows[1:], missing[None, :]]), [0])[0]
    assert np.array_equal(back, candidates)


@pytest.mark.parametrize("coefficient", [0, -21])
def test_shares_of_one_secret_are_uniform_and_independent(coefficient: int) -> None:
    """t - 1 shares of equal coefficients, in 8 x 8 x 8 x 8 cells: chi-square with 4095 degrees of freedom."""
    shares = share_secret(np.full(400_000, coefficient, dtype=np.int8), 7, 5)[:4, :-CHECKS].astype(np.int64)
    cells = np.zeros(shares.shape[1], dtype=np.int64)
    for row in shares:
        cells = cells * 8 + row * 8 // PRIME
    counts = np.bincount(cells, minlength=4096)
    expected = shares.shape[1] / 4096
    statistic = float(np.sum((counts - expected) ** 2) / expected)
    # Mean 4095, standard deviation 90.5: eight of these to either side.
    assert 4095 - 8 * 90.5 < statistic < 4095 + 8 * 90.5


@pytest.mark.parametrize("member_count", range(2, 8))
def test_what_t_less_one_members_hold_says_nothing_of_the_secret(member_count: int) -> None:
    """Exact: with the offset, and all numbers that any t - 1 members hold, each secret fits one number of the set that
    lacks nobody else; and the sharing is the same as if it had been drawn as a polynomial with these shares."""
    threshold = threshold_of(member_count)
    sets = lacking_sets(member_count, threshold)
    for place, coalition in enumerate(sets):
        held = {at for point in coalition for at in held_sets(point, member_count, threshold)}
        assert held == set(range(len(sets))) - {place}
    numbers = random_elements(len(sets), 1)
    candidates = np.arange(-16, 17, dtype=np.int8)
    offset = hide_secret(np.zeros(1, np.int8), numbers)
    for place, coalition in enumerate(sets):
        seen = set()
        for secret in candidates:
            other = numbers.copy()
            other[place] = (int(numbers[place, 0]) + int(secret)) % PRIME
            assert np.array_equal(hide_secret(np.array([secret]), other), offset), "the same offset"
            shares = {
                x: share_at(x, member_count, threshold, other[list(held_sets(x, member_count, threshold))], offset[:1])
                for x in range(1, member_count + 1)
            }
            seen.add(tuple(int(shares[x][0]) for x in coalition))
            points = [*coalition, *(x for x in shares if x not in coalition)][:threshold]
            assert centre(evaluate_at(points, np.stack([shares[x] for x in points]), [0])[0])[0] == secret
        assert len(seen) == 1, "and the same shares"


def test_every_polynomial_comes_of_as_many_numbers() -> None:
    """Exact: the polynomials of the sets span all of degree < t, so uniform numbers make a uniform polynomial."""
    for member_count in range(2, 8):
        threshold = threshold_of(member_count)
        sets = lacking_sets(member_count, threshold)
        columns = []
        for place in range(len(sets)):
            numbers, zero = np.zeros((len(sets), 1), np.uint16), np.zeros(1, np.uint16)
            numbers[place] = 1
            held = {x: numbers[list(held_sets(x, member_count, threshold))] for x in range(1, threshold + 1)}
            columns.append([int(share_at(x, member_count, threshold, held[x], zero)[0]) for x in held])
        # Member x of the first t alone has something of the set of the t - 1 others: a diagonal of t columns.
        chosen = [sets.index(tuple(y for y in range(1, threshold + 1) if y != x)) for x in range(1, threshold + 1)]
        rows = np.array([columns[place] for place in chosen])
        assert np.count_nonzero(rows) == np.count_nonzero(np.diag(rows)) == threshold


@pytest.mark.parametrize("pad", [0, PRIME - 1])
@pytest.mark.parametrize("coefficient", [-32760, -21, 21, 32760])
def test_an_offset_is_right_at_the_ends_of_the_field(pad: int, coefficient: int) -> None:
    numbers = np.full((1, 1 + CHECKS), pad, np.uint16)
    assert hide_secret(np.array([coefficient]), numbers).tolist() == [(coefficient - pad) % PRIME]


def test_two_sharings_of_one_secret_differ() -> None:
    secret = np.zeros(64, dtype=np.int8)
    assert not np.array_equal(share_secret(secret, 3, 3), share_secret(secret, 3, 3))


def test_what_cannot_be_shared_is_refused() -> None:
    secret = np.zeros(4, dtype=np.int8)
    for member_count, threshold in ((3, 0), (3, 4), (PRIME, 2)):
        with pytest.raises(InputError, match="threshold"):
            share_secret(secret, member_count, threshold)
    for bad in (np.array([32761]), np.array([-32761]), np.zeros((2, 2), np.int8)):
        with pytest.raises(InputError, match="secret"):
            share_secret(bad, 3, 3)
