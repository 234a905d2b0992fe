"""The whole committee protocol, sealed, over mailboxes and a network with faults: the same bits as in one process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest
from tests.channel.mailbox.fake_relay import LIMIT_S, FakeRelay, Faults
from tests.own_loop.conftest import FIVE, THREE, make_state

from hekat.channel.mailbox import MailboxChannel
from hekat.own_loop import Party, federated_run

pytestmark = pytest.mark.sealed


class _GivesTurn:
    """Roles of one process take turns: a call that may wait gives the turn to another role."""

    def __init__(self, channel: MailboxChannel, turn: threading.Lock) -> None:
        self._channel, self._turn = channel, turn

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._channel, name)
        if name not in ("send", "receive", "expel"):
            return found

        def call(*words: Any, **named: Any) -> Any:
            self._turn.release()
            try:
                return found(*words, **named)
            finally:
                self._turn.acquire()

        return call


def play_over(relay: FakeRelay, **settings: Any) -> Callable[..., dict[str, Any]]:
    """In place of `play_in_process`: a thread a role, each over its own mailbox."""

    def play(roles: Mapping[str, Callable[..., Any]], *, may_drop_out: Any, turn: threading.Lock, **_: Any) -> Any:
        results: dict[str, Any] = {}
        ends = {end.party: end for end in relay.add_all(tuple(roles), may_drop_out, **settings)}

        def play_role(name: str) -> None:
            try:
                with turn:
                    results[name] = roles[name](_GivesTurn(ends[name], turn))
            except BaseException as error:
                ends[name].fail(error)
            else:
                ends[name].finish()

        threads = [threading.Thread(target=play_role, args=(name,), daemon=True) for name in roles]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(3 * LIMIT_S)
        assert not any(thread.is_alive() for thread in threads)
        return results

    return play


def _train(party: Party) -> dict[str, np.ndarray]:
    state = make_state(FIVE.index(party.name))
    for _ in range(2):
        state = party.aggregate(state, weight=10 + FIVE.index(party.name))
    return state


@pytest.mark.quick_cases("shared")
@pytest.mark.parametrize("opening", ["committee", "shared"])
def test_faults_of_the_network_change_no_bit(play_with, monkeypatch, opening: str) -> None:
    expected = play_with(_train, THREE, opening=opening).results
    relay = FakeRelay(Faults(0.05, 0.05, 0.05, 0.05, 0.05), seed=7)
    monkeypatch.setattr(federated_run, "play_in_process", play_over(relay))
    results = play_with(_train, THREE, opening=opening).results
    for party in THREE:
        for name, values in expected[party].items():
            np.testing.assert_array_equal(results[party][name], values)
    planted = [make_state(FIVE.index(party))["vector"].tobytes()[:16] for party in THREE]
    assert not any(secret in parcel for secret in planted for parcel in relay.seen)


@pytest.mark.long
def test_a_party_cut_off_is_given_up_on_and_the_others_have_their_sum(play_with, monkeypatch) -> None:
    relay = FakeRelay()
    monkeypatch.setattr(federated_run, "play_in_process", play_over(relay, lost_after_s=0.3))

    def train(party: Party) -> Any:
        state = party.aggregate(make_state(FIVE.index(party.name)), weight=1)
        if party.name == "river":
            relay.cut.add("river")
        with suppress(Exception) if party.name == "river" else nullcontext():
            return party.aggregate(state, weight=1)

    results = play_with(train, FIVE).results
    left = [results[party] for party in FIVE if party != "river"]
    for state in left[1:]:
        for name, values in left[0].items():
            np.testing.assert_array_equal(state[name], values)
