"""A loop with a bound on updates: long ones are scaled down and counted, and a party that sends more is found out."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import InputError, LongSumError
from hekat.protocol.secure_sum.update_norm import UpdateNorm

LENGTHS = {"north": 0.5, "lake": 30.0, "county": 1.0}


def play(party):
    state = {"w": np.zeros(2), "b": np.zeros(1)}
    party.start_from(state)
    length = LENGTHS[party.name]
    return party.aggregate({"w": state["w"] + [0.0, 0.6 * length], "b": state["b"] + 0.8 * length}, weight=10)


@pytest.mark.parametrize("protection", ["lattice", "none"])
def test_a_long_update_counts_as_one_of_the_bounds_length(play_with, protection) -> None:
    run = play_with(play, protection=protection, max_norm=2.0)
    expected = (0.5 + 2.0 + 1.0) / 3
    np.testing.assert_allclose(run.results["north"]["w"], [0.0, 0.6 * expected], atol=1e-3)
    np.testing.assert_allclose(run.results["lake"]["b"], [0.8 * expected], atol=1e-3)
    assert run.costs.rounds[0].scaled_down_count == run.costs.scaled_down_count == 1
    assert "updates scaled down to max_norm: 1 of 3" in str(run)


def test_without_a_bound_nothing_is_scaled(play_with) -> None:
    run = play_with(play, protection="none")
    np.testing.assert_allclose(run.results["north"]["b"], [0.8 * 31.5 / 3])
    assert "max_norm" not in str(run)


@pytest.mark.parametrize("protection", ["lattice", "paillier", "none"])
def test_nobody_uses_a_mean_that_a_party_made_too_long(play_with, protection, monkeypatch) -> None:
    """The party lake sends its whole update of 30; the others keep to 2, so an honest mean is no longer than that."""
    monkeypatch.setattr(UpdateNorm, "_factor_of", lambda self, norm: 1.0)
    key = {"key_bits": 2048} if protection == "paillier" else {}
    seen = []

    def watch(party):
        try:
            return play(party)
        finally:
            seen.append((party.name, party.rounds_done))

    with pytest.raises(LongSumError, match="the sum of round-1 is longer than honest updates make it"):
        play_with(watch, protection=protection, max_norm=2.0, **key)
    assert sorted(seen) == [("county", 0), ("lake", 0), ("north", 0)]


def test_a_party_within_its_bound_shifts_the_mean_by_no_more_than_it(play_with, monkeypatch) -> None:
    """What passes the check is bounded: of a lie that keeps the mean within 2, nobody can say that it is one."""
    monkeypatch.setattr(UpdateNorm, "_factor_of", lambda self, norm: 1.0)
    monkeypatch.setitem(LENGTHS, "lake", 4.0)
    run = play_with(play, max_norm=2.0)
    assert np.linalg.norm([*run.results["north"]["w"], *run.results["north"]["b"]]) <= 2.0


def test_a_first_call_with_whole_values_is_refused(play_with) -> None:
    with pytest.raises(InputError, match=r"max_norm bounds changes, and round 1 would send whole values"):
        play_with(lambda party: party.aggregate({"w": np.zeros(2)}, weight=1), max_norm=2.0)
