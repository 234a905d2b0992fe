"""Any t shares open a secret, and t - 1 of them are as likely for every other secret."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.opening.committee import threshold_of
from hekat.protocol.secure_sum.masked.opening.field import PRIME, centre, evaluate_at
from hekat.protocol.secure_sum.masked.opening.shamir import CHECKS, share_secret


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
