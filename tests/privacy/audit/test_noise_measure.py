"""Noise measured in sums of parties: right at every number of parties, and wrong where one party's noise is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hekat.engine.ring.gaussian import BLOCK_NUMBERS, DiscreteGaussian
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.privacy.audit import measure_noise

KEY = bytes(range(50, 82))
COUNT, DEVIATION, LEAST, PARTIES = 100_000, 37, 3, 10
LAW = DiscreteGaussian.of_at_least(Fraction(DEVIATION) ** 2)


def draw(party):
    """One party's noise, of blocks of its own."""
    blocks = party * (COUNT // BLOCK_NUMBERS + 1)
    return get_engine().sample_discrete_gaussian(KEY, blocks, COUNT, LAW)


@pytest.mark.parametrize("parties", range(LEAST, PARTIES + 1))
def test_the_noise_of_any_number_of_parties_is_as_expected(parties):
    found = measure_noise(sum(draw(party) for party in range(parties)), parties * LAW.variance)
    assert found.is_as_expected
    assert found.is_enough
    assert found.variance_tolerance < 0.04


FAULTS = {
    "missing": np.zeros_like,
    "halved": lambda noise: noise // 2,
    "clipped at a lane": lambda noise: np.clip(noise, -DEVIATION, DEVIATION),
}


@pytest.mark.parametrize("parties", [LEAST, PARTIES])
@pytest.mark.parametrize("fault", FAULTS)
def test_one_party_with_other_noise_shows(parties, fault):
    noises = [draw(party) for party in range(parties)]
    noises[-1] = FAULTS[fault](noises[-1])
    found = measure_noise(sum(noises), parties * LAW.variance)
    assert not found.is_enough
    assert not found.is_as_expected


def test_two_draws_for_one_update_show_in_the_mean_of_both_openings():
    opened = [sum(draw(party) for party in range(start, start + LEAST)) for start in (0, LEAST)]
    assert not measure_noise((opened[0] + opened[1]) // 2, LEAST * LAW.variance).is_enough


def test_too_much_noise_and_noise_off_its_middle_are_enough_but_not_as_expected():
    for errors in (draw(0) + draw(1), draw(0) + 2):
        found = measure_noise(errors, LAW.variance)
        assert found.is_enough
        assert not found.is_as_expected


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: measure_noise(np.zeros(4095, np.int64), 1), "integers, 4,096 and more"),
        (lambda: measure_noise(np.zeros(5000), 1), "opened noise refused"),
        (lambda: measure_noise([0] * 5000, 1), "got list"),
        (lambda: measure_noise(np.zeros(5000, np.int64), 0), "variance of noise refused"),
        (lambda: measure_noise(np.zeros(5000, np.int64), float("nan")), "variance of noise refused"),
        (lambda: measure_noise(np.zeros(5000, np.int64), 1, chance=0), "chance of a false alarm"),
    ],
)
def test_what_cannot_be_measured_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
