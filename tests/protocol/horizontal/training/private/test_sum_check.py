"""A noised sum that honest parties can make passes, and one that is longer is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import LongSumError
from hekat.privacy.accounting import fit_to_lane
from hekat.privacy.noised_levels import noised_levels
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.horizontal.training.private.sum_check import check_noised_sum, most_norm, most_terms
from hekat.protocol.secure_sum.integer_sums import IntegerSums

ROWS = PrivacySettings(unit="row", clip=1.0, delta=1e-5, noise=2.0, divisor=100)
COINS = PrivacySettings(
    unit="row", clip=1.0, delta=1e-5, noise=2.0, divisor=100, batches="poisson-secret", sampling=0.01
)
PARTY = PrivacySettings(unit="party", clip=1.0, delta=1e-5, noise=2.0)
PARTIES, VALUES = 5, 400


@pytest.fixture(scope="module")
def mechanism():
    return fit_to_lane(clip=1.0, alpha=20.0, value_count=VALUES, noise=1.0, honest=2, party_count=PARTIES, lane_bits=24)


def test_terms_are_a_partys_rows_or_those_that_coins_likely_take() -> None:
    assert most_terms(ROWS, 1000) == 1000
    assert most_terms(PARTY, 1000) == 1
    # 10,000 coins of 0.01: 100 are expected with a spread of 10, and 207 is more than ten spreads away.
    assert 200 < most_terms(COINS, 10_000) < 215
    assert most_terms(COINS, 20) == 20


def test_the_longest_honest_sum_passes_and_twice_as_long_a_one_does_not(mechanism) -> None:
    """All parties send their 10 terms in one direction, each as long as it may be."""
    direction = np.full(VALUES, 10 / np.sqrt(VALUES))
    levels = sum(noised_levels(direction, mechanism) for _ in range(PARTIES))
    check_noised_sum("round-1", IntegerSums({"w": levels}, {}, PARTIES, ()), mechanism, 10)
    assert np.linalg.norm(levels) > 0.8 * most_norm(mechanism, 10, PARTIES) - most_norm(mechanism, 0, PARTIES)
    with pytest.raises(LongSumError, match="the sum of round-1 is longer than honest updates and their noise make it"):
        check_noised_sum("round-1", IntegerSums({"w": 2 * levels}, {}, PARTIES, ()), mechanism, 10)
