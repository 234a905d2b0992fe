"""What an aggregator could hide of an own loop, parties find out among themselves at its end."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import HekatError, ModelsDifferError
from hekat.own_loop import Party
from hekat.own_loop import aggregator as loop_aggregator
from hekat.own_loop.calls.compare_calls import AGREED
from hekat.protocol.secure_sum import party_side
from hekat.protocol.secure_sum.agreement import final_model
from hekat.protocol.secure_sum.agreement.messages import RoundAgreedMessage, RoundEndMessage
from hekat.protocol.secure_sum.masked.party import MaskedAggregation

from .conftest import FIVE


@pytest.fixture
def hides_differences(monkeypatch) -> None:
    """The aggregator says that all is the same, whatever parties compare."""

    def agree(roster, step: str) -> None:
        ends = roster.receive_from_all(f"{step}/end", RoundEndMessage)
        roster.send_to_all(f"{step}/agreed", RoundAgreedMessage(party_count=len(ends)))

    monkeypatch.setattr(loop_aggregator, "compare_calls", lambda *others: AGREED)
    monkeypatch.setattr(loop_aggregator, "serve_round_end", agree)


def check_and_average(party: Party):
    party.check_same("vocabulary", "red" if party.name == "lake" else "green")
    return party.aggregate({"w": np.ones(3)}, weight=1)


def start_and_average(party: Party):
    state = {"w": np.full(3, 1.0 if party.name == "lake" else 2.0)}
    party.start_from(state)
    return party.aggregate(state, weight=1)


def only_start(party: Party):
    party.start_from({"w": np.full(3, 1.0 if party.name == "lake" else 2.0)})


def average_the_same(party: Party):
    same = ("vocabulary", "red" if party.name == "lake" else "green")
    return party.aggregate({"w": np.ones(3)}, weight=1, same=same)


@pytest.mark.parametrize(
    ("code", "protection"),
    [
        *((code, "none") for code in (check_and_average, start_and_average, average_the_same, only_start)),
        (only_start, "lattice"),
    ],
)
def test_what_the_aggregator_hides_is_found_at_the_end(code, protection, play_with, hides_differences) -> None:
    with pytest.raises(ModelsDifferError, match="do not end with the same model"):
        play_with(code, protection=protection)


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_of_many_parties_it_is_found_by_what_the_aggregator_passes_on(
    protection, play_with, hides_differences, monkeypatch
) -> None:
    monkeypatch.setattr(final_model, "MOST_IN_PAIRS", 2)
    with pytest.raises(ModelsDifferError, match="do not end with the same model"):
        play_with(only_start, protection=protection)


def test_a_loop_of_many_parties_that_agree_ends(play_with, monkeypatch) -> None:
    monkeypatch.setattr(final_model, "MOST_IN_PAIRS", 2)
    assert len(play_with(lambda party: party.aggregate({"w": np.ones(3)}, weight=1), protection="none").results) == 3


@pytest.mark.parametrize("code", [check_and_average, start_and_average, average_the_same])
def test_without_the_comparison_it_passed(code, play_with, hides_differences, monkeypatch) -> None:
    monkeypatch.setattr(party_side, "compare_final_models", lambda *args, **others: ())
    assert len(play_with(code, protection="none").results) == 3


@pytest.mark.quick_values
@pytest.mark.parametrize("clipping", [{}, {"clipping": "fixed", "alpha": 4.0}])
@pytest.mark.parametrize("code", [check_and_average, start_and_average, average_the_same])
def test_under_lattice_no_sum_opens_with_what_the_aggregator_hides(
    code, clipping, play_with, hides_differences, monkeypatch
) -> None:
    """A server that has the others train on nothing would read the one update in the mean, before any comparison."""
    opened = []
    note = MaskedAggregation._open

    def noting(*values, **others):
        opened.append(note(*values, **others))
        return opened[-1]

    monkeypatch.setattr(MaskedAggregation, "_open", noting)
    with pytest.raises(HekatError):
        play_with(code, **clipping)
    assert not opened


@pytest.mark.parametrize("code", [check_and_average, start_and_average, average_the_same])
def test_where_losses_are_borne_the_one_that_differs_is_in_no_sum(code, play_with, hides_differences) -> None:
    run = play_with(code, FIVE)
    assert set(run.lost) == {"lake"}
    assert {cost.party_count for cost in run.costs.rounds} == {4}
