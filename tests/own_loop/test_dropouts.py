"""A party that fails in the middle under lattice: the others go on, and its result is what it raised."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.own_loop import Party
from hekat.own_loop.turns import Turns

from .conftest import FIVE


def test_the_others_go_on_without_a_party_that_fails(play_with, caplog) -> None:
    def code(party: Party):
        state = {"w": np.full(3, float(FIVE.index(party.name)))}
        state = party.aggregate(state, weight=1)
        if party.name == "lake":
            raise ValueError("the disk is gone")
        for _ in range(2):
            state = {"w": state["w"] + FIVE.index(party.name)}
            state = party.aggregate(state, weight=1)
        return state["w"]

    run = play_with(code, FIVE)
    assert isinstance(run.results["lake"], ValueError)
    others = [party for party in FIVE if party != "lake"]
    step = np.mean([FIVE.index(party) for party in others])
    for party in others:
        assert np.allclose(run.results[party], 2 + 2 * step, atol=1e-2)
    assert [cost.party_count for cost in run.costs.rounds] == [5, 4, 4]
    assert set(run.costs.rounds[2].bytes) == set(others)
    assert list(run.lost) == ["lake"]
    assert "LOST lake" in str(run)
    # What an exception of somebody else's says may hold data: the log names its kind.
    assert any("ValueError" in record.getMessage() for record in caplog.records)
    assert "disk" not in caplog.text


def test_values_of_a_party_that_are_refused_cost_that_party_only(play_with) -> None:
    def code(party: Party):
        values = np.full(2, np.nan if party.name == "hill" else 1.0)
        return party.aggregate({"w": values}, weight=1)["w"]

    run = play_with(code, FIVE)
    assert isinstance(run.results["hill"], InputError)
    assert np.allclose(run.results["river"], 1, atol=1e-3)


def test_a_second_loss_ends_the_run_with_what_the_first_raised(play_with) -> None:
    def code(party: Party):
        state = party.aggregate({"w": np.zeros(2)}, weight=1)
        if party.name == "lake":
            raise ValueError("first")
        state = party.aggregate(state, weight=1)
        if party.name == "hill":
            raise ValueError("second")
        return party.aggregate(state, weight=1)

    with pytest.raises(ValueError, match="first"):
        play_with(code, FIVE)


def test_interrupting_ends_all_parties(play_with, monkeypatch) -> None:
    """The party that computes finishes its turn; nobody begins another one."""
    before = set(threading.enumerate())
    begun, stopped, stop = [], threading.Event(), Turns.stop
    monkeypatch.setattr(Turns, "stop", lambda turns: (stop(turns), stopped.set()))

    def code(party: Party):
        for _ in range(3):
            begun.append(party.name)
            if len(begun) == 4:
                os.kill(os.getpid(), signal.SIGINT)
                assert stopped.wait(60)
            party.aggregate({"w": np.zeros(2)}, weight=1)

    with pytest.raises(KeyboardInterrupt):
        play_with(code)
    assert begun == ["north", "lake", "county", "north"]
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("hekat-")]
