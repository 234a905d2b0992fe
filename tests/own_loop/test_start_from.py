"""A start that all parties hold: nothing of it is sent, the first means are of changes, and other starts are named."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import InputError, ProtocolError
from hekat.own_loop import Party

from .conftest import FIVE, THREE, make_state, stated_bound, weighted_mean


def _moved(party: Party) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(50 + FIVE.index(party.name))
    return {
        name: (values + 1e-4 * rng.normal(size=values.shape)).astype(values.dtype)
        for name, values in make_state(1).items()
    }


@pytest.mark.parametrize("protection", ["lattice", "none"])
def test_the_first_mean_after_it_is_as_exact_as_changes_are(protection, play_with) -> None:
    passed: dict[str, dict[str, np.ndarray]] = {}

    def code(party: Party):
        party.start_from(make_state(1))
        passed[party.name] = _moved(party)
        return party.aggregate(passed[party.name], weight=10)

    run = play_with(code, protection=protection)
    (cost,) = run.costs.rounds
    for name, start in make_state(1).items():
        exact = weighted_mean(passed, dict.fromkeys(THREE, 10), name)
        bound = stated_bound(cost, name) if protection == "lattice" else 0.0
        # Changes are of 1e-4, the values of up to 30: bounds of states would allow a thousand times as much.
        assert bound < 1e-7
        for party in THREE:
            rounding = float(np.spacing(np.float32(np.abs(start).max())))
            assert np.abs(run.results[party][name] - exact).max() <= bound + rounding


def test_only_what_changed_is_clipped_and_further_rounds_go_on_from_the_mean(play_with) -> None:
    def code(party: Party):
        party.start_from(make_state(1))
        state = party.aggregate(_moved(party), weight=1)
        bounds_fit = party.aggregate(state, weight=1)
        return all(np.array_equal(state[name], bounds_fit[name]) for name in state)

    run = play_with(code)
    assert list(run.results.values()) == [True] * 3
    assert [one.clipped_count for one in run.costs.rounds] == [0, 0]


def test_other_values_or_tensors_at_a_party_are_named_before_anything_is_sent(play_with) -> None:
    def other_values(party: Party) -> None:
        state = make_state(1)
        if party.name == "lake":
            state["vector"][3] = np.nextafter(state["vector"][3], np.float32(1))
        party.start_from(state)

    with pytest.raises(ProtocolError, match=r"'the state to start from' is not the same.*north, county \| lake"):
        play_with(other_values)

    def other_shape(party: Party) -> None:
        state = make_state(1)
        if party.name == "county":
            state["vector"] = state["vector"][:-1]
        party.start_from(state)

    with pytest.raises(ProtocolError, match=r"tensors differ.*'vector' \(north, lake: float32 \(11,\); county:"):
        play_with(other_shape)

    def only_one(party: Party) -> None:
        if party.name == "north":
            party.start_from(make_state(1))
        party.aggregate(make_state(1), weight=1)

    with pytest.raises(ProtocolError, match=r"north call start_from before round 1; lake, county call aggregate"):
        play_with(only_one)


def test_a_refused_start_leaves_the_values_to_be_sent_whole(play_with) -> None:
    """Values that are not finite are refused by the party itself, which may then go on without a start."""

    def code(party: Party):
        broken = make_state(1)
        broken["vector"][0] = np.nan
        with pytest.raises(InputError, match=r"party \w+: tensor 'vector' holds NaN"):
            party.start_from(broken)
        return party.aggregate(make_state(1), weight=1)

    bound = play_with(code).costs.rounds[0].bounds["number"]
    assert bound > 1e-3  # of the value itself, times weight / weight_max


def test_a_selection_starts_alone_and_the_rest_is_sent_whole(play_with) -> None:
    def code(party: Party):
        party.start_from(make_state(1), parameters="matrix")
        return party.aggregate(_moved(party), weight=1)

    bounds = play_with(code).costs.rounds[0].bounds
    assert bounds["matrix"] < 1e-5 < bounds["number"]


def test_a_torch_module_starts_as_it_is(play_with) -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")

    def code(party: Party):
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
        party.start_from(model)
        return party.aggregate(model, weight=1) is model

    run = play_with(code)
    assert list(run.results.values()) == [True] * 3
    assert max(run.costs.rounds[0].bounds.values()) <= 1.0
