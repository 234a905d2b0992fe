"""A mistake in the code of a loop: what the caller sees is that code, and no line of who was lost."""

from __future__ import annotations

import logging
import traceback

import numpy as np
import pytest

from hekat.errors import PartyLostError, PartyStoppedError
from hekat.own_loop import Party
from hekat.own_loop.ended_run import root_cause

from .conftest import FIVE

THREE = FIVE[:3]


def look_up(state):
    try:
        return state["missing"]
    except KeyError as error:
        raise ValueError("no such tensor") from error


@pytest.mark.parametrize("rounds", [0, 1])
def test_a_mistake_at_every_party_is_raised_once_with_its_own_traceback(play_with, caplog, rounds) -> None:
    def code(party: Party):
        state = {"w": np.zeros(2)}
        for _ in range(rounds):
            state = party.aggregate(state, weight=1)
        return look_up(state)

    with caplog.at_level(logging.INFO), pytest.raises(ValueError, match="no such tensor") as caught:
        play_with(code, THREE)
    assert "LOST" not in caplog.text
    assert isinstance(caught.value.__cause__, KeyError)  # as the code chained it
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-2:] == ["code", "look_up"]
    # Between the caller's frames and the code's own there is the place that raises, and no other of Hekat's.
    assert frames[frames.index("code") - 1] == "_run"
    (note,) = caught.value.__notes__
    assert note.startswith("raised at party ")


def test_a_loss_that_the_others_bear_is_told_once_they_go_on(play_with, caplog) -> None:
    seen: list[bool] = []

    def code(party: Party):
        state = party.aggregate({"w": np.zeros(2)}, weight=1)
        if party.name == "lake":
            raise ValueError("gone")
        for _ in range(2):
            state = party.aggregate(state, weight=1)
            seen.append("LOST lake" in caplog.text)
        return state["w"]

    run = play_with(code, FIVE)
    assert list(run.lost) == ["lake"]
    assert caplog.text.count("LOST lake") == 1
    assert seen[-1]


def test_a_loss_after_the_last_round_is_told_at_the_end(play_with, caplog) -> None:
    def code(party: Party):
        state = party.aggregate({"w": np.zeros(2)}, weight=1)
        if party.name == "lake":
            raise ValueError("gone")
        return state["w"]

    run = play_with(code, FIVE)
    assert list(run.lost) == ["lake"]
    assert "LOST lake" in caplog.text


def test_what_the_run_ended_with_is_raised_where_no_party_raised_by_itself() -> None:
    stop, lost = PartyStoppedError("stopped", party="a"), PartyLostError("lost", party="b")
    assert root_cause({"a": stop}, lost) is lost
    stop.__cause__ = KeyboardInterrupt()
    assert root_cause({"a": stop}, None) is stop.__cause__
