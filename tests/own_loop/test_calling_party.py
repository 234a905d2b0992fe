"""Who may call a party, and when: its own code, in its thread, as long as no call of it broke; others hang nobody."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from hekat.errors import InputError, ProtocolError
from hekat.own_loop import Party, federate
from hekat.own_loop.averaging import SentTensor

from .conftest import FIVE, THREE

CALLS = [
    lambda party: party.aggregate({"w": np.ones(2)}, weight=1),
    lambda party: party.start_from({"w": np.ones(2)}),
    lambda party: party.check_same("words", 1),
]


def _state(party: Party):
    return {"w": np.full(3, 1.0 + THREE.index(party.name))}


@pytest.mark.parametrize("call", CALLS)
def test_after_the_run_nothing_can_be_called(call, play_with) -> None:
    kept: list[Party] = []
    play_with(kept.append)
    with pytest.raises(ProtocolError, match=r"party \w+ cannot be called from here.*after the code has returned"):
        call(kept[0])


@pytest.mark.parametrize("call", CALLS)
def test_another_thread_is_refused_at_once(call, play_with) -> None:
    def code(party: Party):
        refused: list[BaseException] = []

        def elsewhere() -> None:
            try:
                call(party)
            except ProtocolError as error:
                refused.append(error)

        threads = [threading.Thread(target=elsewhere, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        party.aggregate(_state(party), weight=1)
        return len(refused)

    assert list(play_with(code).results.values()) == [2] * 3


def test_the_code_of_another_party_is_refused(play_with) -> None:
    met: list[Party] = []

    def code(party: Party):
        met.append(party)
        return met[0].aggregate(_state(party), weight=1)

    with pytest.raises(ProtocolError, match=r"party north cannot be called from here"):
        play_with(code)


@pytest.mark.long
def test_a_loop_within_a_loop_is_one_of_its_own(play_with) -> None:
    def inner(party: Party):
        return party.aggregate(_state(party), weight=1)["w"]

    def code(party: Party):
        return party.aggregate({"w": federate(inner, THREE).results["lake"]}, weight=1)["w"]

    for result in play_with(code).results.values():
        assert np.allclose(result, 2, atol=1e-3)


def _read_that_fails_at(victim: threading.local, read):
    """Values that cannot be read once the call has left: as a file that they are mapped from would go away."""

    def failing(tensor: SentTensor, start: int, stop: int):
        if getattr(victim, "armed", False):
            raise InputError("the values are gone")
        return read(tensor, start, stop)

    return failing


@pytest.fixture
def break_on_the_way(monkeypatch):
    """Makes the call that this thread makes next fail after its first message."""
    victim = threading.local()
    monkeypatch.setattr(SentTensor, "read", _read_that_fails_at(victim, SentTensor.read))

    def arm(party: Party) -> None:
        call = party._calls._tell

        def call_and_break(message) -> None:
            call(message)
            victim.armed = True

        party._calls._tell = call_and_break

    return arm


@pytest.mark.parametrize("swallowed", ["called again", "returned"])
def test_no_call_follows_one_that_broke_on_its_way(swallowed, break_on_the_way, play_with) -> None:
    """Its code may swallow the error: the others hear of it all the same, as of a party that is lost."""

    def code(party: Party):
        if party.name == "lake":
            break_on_the_way(party)
            with pytest.raises(InputError, match="the values are gone"):
                party.aggregate(_state(party), weight=1)
            if swallowed == "returned":
                return None
        return party.aggregate(_state(party), weight=1)

    expected = {"called again": "party lake can call for nothing more.*InputError", "returned": "the values are gone"}
    with pytest.raises((ProtocolError, InputError), match=expected[swallowed]):
        play_with(code)


def test_a_party_whose_call_breaks_is_lost_where_losses_are_borne(break_on_the_way, play_with) -> None:
    def code(party: Party):
        if party.name == "hill":
            break_on_the_way(party)
        return party.aggregate({"w": np.ones(3)}, weight=1)["w"]

    run = play_with(code, FIVE)
    assert isinstance(run.results["hill"], InputError)
    assert np.allclose(run.results["north"], 1, atol=1e-3)
