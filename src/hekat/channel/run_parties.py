"""Runs every role of a protocol in its own thread and ends them all together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from threading import Lock, Thread
from typing import TypeVar

from hekat.channel.channel import Channel
from hekat.channel.computing_turn import ComputingTurn
from hekat.channel.in_process import DEFAULT_TIMEOUT_S, HEAR_EVERY_S, InProcessHub
from hekat.errors import PartyLostError

T = TypeVar("T")

_CALLER = "the caller"


def run_parties(
    roles: Mapping[str, Callable[[Channel], T]],
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    may_be_lost: Collection[str] = (),
    on_lost: Callable[[PartyLostError], None] | None = None,
    on_stop: Callable[[], None] | None = None,
    turn: Lock | ComputingTurn | None = None,
) -> dict[str, T]:
    """What each role returned, by party name; each role gets its party's channel, all parties run at once.

    `timeout_s` is the time of one step (one wait), not of the run. The first party that raises ends the run: every
    other one is woken from its wait, or told at its next `send` or `receive`. All threads have ended on return, so a
    role that computes on without touching its channel delays it. Ctrl-C stops all parties and is raised again.

    A party in `may_be_lost` that raises or is expelled is lost instead, and the run goes on without it, as
    `InProcessHub` says. Lost parties have no result, whatever they return. `on_lost` is called by the caller's thread,
    at once and once for each, with its name, step, and the text of its error where that is one of ours, else the
    error's kind; the cause is the error itself. What `on_lost` raises ends the run like Ctrl-C. `on_stop` is called by
    that thread once either has ended it, before it waits for the roles: it wakes those that wait for something else
    than a message.

    With a `turn` one role computes at a time: it holds that lock but while it waits for a message or for room.

    Raises:
        InputError: a name in `may_be_lost` that has no role.
        PartyStoppedError: a party that may not be lost raised (then the cause is its exception), or a party finished
            before sending what such a one awaited, or was lost before the parties' session was open.
        PartyLostError: every party was lost; names the last.
        ChannelError: every role returned, but a message was left that nobody read.
    """
    hub = InProcessHub(tuple(roles), timeout_s, may_be_lost=frozenset(may_be_lost), turn=turn)
    results: dict[str, T] = {}

    def play(party: str) -> None:
        try:
            with turn or nullcontext():
                results[party] = roles[party](hub.channel(party))
        except BaseException as error:
            hub.fail(party, error)
        else:
            hub.finish(party)

    # Daemons: a second Ctrl-C while a role still computes ends the program instead of waiting for it.
    threads = [Thread(target=play, args=(party,), name=f"hekat-{party}", daemon=True) for party in roles]
    try:
        for thread in threads:
            thread.start()
        hub.wait_until_all_finished(on_lost)
    except BaseException as error:
        hub.stop(_CALLER, error)
        if on_stop is not None:
            on_stop()
        raise
    finally:
        for thread in threads:
            while thread.is_alive():  # started, and not over
                thread.join(HEAR_EVERY_S)
    hub.raise_first_failure()
    lost = hub.lost
    return {party: results[party] for party in roles if party not in lost}
