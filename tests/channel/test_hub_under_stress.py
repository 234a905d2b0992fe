"""Many threads on one hub, in an order that chance decides: nobody waits for ever, and nothing is lost that was sent.

Each run follows a script that all parties share: a list of messages, each with its sender and receiver. Every party
sends and receives its own in the script's order. The first message that is not through yet can always be sent and
received, whatever room there is: so a run that stands still is a lost wake-up. No wait has a time-out of its own.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from threading import Lock, Thread

import pytest

from hekat.channel import InProcessHub
from hekat.errors import ChannelError, InputError, PartyLostError, PartyStoppedError

# Far more than a run takes: threads that are still alive then wait for ever.
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Message:
    sender: str
    receiver: str
    step: str
    payload: bytes


@dataclass
class Script:
    """What is to happen: `sent` leaves out messages that nobody sends, `ends` says before which one a party fails."""

    parties: tuple[str, ...]
    messages: Sequence[Message]
    unsent: frozenset[int] = frozenset()
    ends: dict[str, int] = field(default_factory=dict)
    expels: dict[int, str] = field(default_factory=dict)


def make_script(seed: int, party_count: int, message_count: int) -> tuple[Script, random.Random]:
    rng = random.Random(seed)
    parties = tuple(f"p{number}" for number in range(party_count))
    messages = []
    for number in range(message_count):
        sender, receiver = rng.sample(parties, 2)
        messages.append(Message(sender, receiver, f"step {number}", b"%d " % number * rng.randrange(1, 6)))
    return Script(parties, messages), rng


def play(hub: InProcessHub, script: Script, party: str, outcomes: dict[str, list[object]], turn: Lock | None) -> None:
    """One party's thread: what each of its calls gave or raised."""
    with turn or nullcontext():
        play_script(hub, script, party, outcomes[party])


def play_script(hub: InProcessHub, script: Script, party: str, found: list[object]) -> None:
    try:
        for number, message in enumerate(script.messages):
            if script.ends.get(party) == number:
                raise InputError("this party fails here")
            if party == message.receiver and number in script.expels:
                hub.expel(party, script.expels[number], "chance has it")
            try:
                if party == message.sender and number not in script.unsent:
                    hub.send(party, message.receiver, message.step, message.payload)
                elif party == message.receiver:
                    found.append((number, hub.receive(party, message.sender, message.step, math.inf)))
            except PartyStoppedError:
                raise
            except ChannelError as error:
                found.append((number, error))
    except BaseException as error:
        found.append(error)
        hub.fail(party, error)
    else:
        hub.finish(party)


def outcomes_of(script: Script, seed: int, *, in_turns: bool, **settings: object) -> dict[str, list[object]]:
    """By party what its calls gave; fails where a thread still waits after PATIENCE_S."""
    turn = Lock() if in_turns else None
    hub = InProcessHub(script.parties, math.inf, turn=turn, **settings)
    outcomes: dict[str, list[object]] = {party: [] for party in script.parties}
    threads = [Thread(target=play, args=(hub, script, party, outcomes, turn), daemon=True) for party in script.parties]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    alive = [party for party, thread in zip(script.parties, threads, strict=True) if thread.is_alive()]
    assert not alive, f"seed {seed}: {alive} wait for ever; they wait: {hub._waits}"
    assert hub._waits == {}
    return outcomes


def received(outcomes: dict[str, list[object]]) -> Iterator[tuple[int, object]]:
    for found in outcomes.values():
        yield from (pair for pair in found if isinstance(pair, tuple))


@pytest.mark.quick_values
@pytest.mark.parametrize("in_turns", [False, True])
@pytest.mark.parametrize("room", [1, 16, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_every_message_arrives_whatever_room_there_is(seed: int, room: int, in_turns: bool) -> None:
    script, _ = make_script(seed, party_count=24, message_count=1500)
    outcomes = outcomes_of(script, seed, in_turns=in_turns, max_waiting_bytes=room)
    arrived = dict(received(outcomes))
    assert arrived == {number: message.payload for number, message in enumerate(script.messages)}


@pytest.mark.quick_values
@pytest.mark.parametrize("in_turns", [False, True])
@pytest.mark.parametrize("room", [1, 1 << 20])
@pytest.mark.parametrize("seed", range(6))
def test_dropouts_and_expulsions_at_any_place_hold_nobody_up(seed: int, room: int, in_turns: bool) -> None:
    script, rng = make_script(100 + seed, party_count=24, message_count=1500)
    failing = rng.sample(script.parties, 6)
    script.ends = {party: rng.randrange(len(script.messages)) for party in failing}
    for number in rng.sample(range(len(script.messages)), 6):
        script.expels[number] = rng.choice([p for p in script.parties if p != script.messages[number].receiver])
    outcomes = outcomes_of(
        script, seed, in_turns=in_turns, max_waiting_bytes=room, may_be_lost=frozenset(script.parties)
    )
    lost = set(failing) | set(script.expels.values())
    for number, result in received(outcomes):
        if isinstance(result, bytes):
            assert result == script.messages[number].payload
        else:
            # Never a standstill or a time-out: who waits for a lost party is told that it is lost.
            assert isinstance(result, PartyLostError), f"seed {seed}: {result!r}"
            assert {script.messages[number].sender, script.messages[number].receiver} & lost
    for party in set(script.parties) - lost:
        assert not any(isinstance(result, BaseException) for result in outcomes[party])


@pytest.mark.quick_values
@pytest.mark.parametrize("in_turns", [False, True])
@pytest.mark.parametrize("room", [1, 1 << 20])
@pytest.mark.parametrize("seed", range(6))
def test_messages_that_nobody_sends_are_told_by_standstills_and_the_run_ends(
    seed: int, room: int, in_turns: bool
) -> None:
    script, rng = make_script(200 + seed, party_count=16, message_count=400)
    script.unsent = frozenset(rng.sample(range(len(script.messages)), 30))
    outcomes = outcomes_of(
        script, seed, in_turns=in_turns, max_waiting_bytes=room, may_be_lost=frozenset(script.parties)
    )
    errors = [result for _, result in received(outcomes) if isinstance(result, BaseException)]
    assert errors
    assert all(isinstance(error, ChannelError) for error in errors)
