"""Every party of a run in one process: one thread a party, bounded queues between them, and no way to hang."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Condition, Lock, RLock
from typing import NamedTuple

from hekat.channel.channel import (
    check_party_names,
    check_payload,
    check_peer,
    check_step,
    check_timeout,
    printable_reason,
)
from hekat.channel.computing_turn import ComputingTurn
from hekat.channel.departure import Dropout, Stop, forget_locals, kind_of
from hekat.channel.dropout_notice import BEFORE_FIRST_STEP, DropoutNotice
from hekat.channel.unread import describe_unread
from hekat.errors import (
    ChannelError,
    ChannelTimeoutError,
    HekatError,
    InputError,
    PartyLostError,
    PartyStoppedError,
)

DEFAULT_TIMEOUT_S = 60.0
DEFAULT_MAX_WAITING_BYTES = 256 << 20
# A signal that comes just before a wait begins is heard when the wait ends: so the caller's wait has an end.
HEAR_EVERY_S = 0.2


class _Message(NamedTuple):
    step: str
    payload: bytes


@dataclass
class _Wait:
    """One blocked call: `receives` tells a receiver from a sender that waits for room of `room_bytes`."""

    party: str
    peer: str
    step: str
    receives: bool
    room_bytes: int
    timeout_s: float
    deadline: float
    # What all parties wait for, once nobody can send any more: the time-out is then reached without waiting for it.
    stalemate: str = ""


class InProcessHub:
    """The meeting point of `parties`; `channel(name)` is one party's end.

    Rules, in the order a receiver meets them:

    - A message is kept until its receiver asks for its (sender, step), however much later.
    - Each ordered pair of parties keeps at most `max_waiting_bytes` (one message may be larger when it is alone).
      Beyond it `send` waits for room; a receiver that asks for a step which cannot get past the waiting ones is
      told so at once.
    - A party that stops wakes all others with PartyStoppedError; one that finishes wakes the parties that wait for it.
    - When every unfinished party waits, no message can come any more: the earliest time-out is reached at once.

    A party in `may_be_lost` that raises, or that another one expels, is lost instead, and the run goes on:

    - What it sent before can still be received, by every party that did not expel it. A receiver that finds nothing of
      it waiting, and a sender to it, get PartyLostError at once, also where they waited already.
    - Messages that wait for it are dropped. What is left unread of it at the end is no error.
    - An expelled party gets PartyStoppedError, which names the party that gave up on it and why, in the call it waits
      in or at its next one. Until then its thread may compute on: standstills are found without it, the end waits for
      it.
    - A party that cannot go on without a lost one ends the run for all in that one's name, by raising
      PartyStoppedError with its name; so does a session that cannot be opened. Errors that say `ends_run` do so in the
      name of the party that raises them.
    - When every party is lost, the last dropout is the run's failure.
    - A run that another party ended also has the dropouts that follow from what was sent before.

    Each party uses its end from one thread at a time. `timeout_s` is a step's time where the caller gives none.

    `turn` is a lock that every party's thread holds whenever it uses its end: it is given back while a party waits
    here, and taken again before the wait ends, so that one party computes at a time.
    """

    def __init__(
        self,
        parties: tuple[str, ...],
        timeout_s: float = DEFAULT_TIMEOUT_S,
        *,
        max_waiting_bytes: int = DEFAULT_MAX_WAITING_BYTES,
        may_be_lost: frozenset[str] = frozenset(),
        turn: Lock | ComputingTurn | None = None,
    ) -> None:
        self.parties = tuple(parties)
        check_party_names(self.parties)
        check_timeout(timeout_s)
        if max_waiting_bytes < 1:
            raise InputError(
                "no room for messages", expected="max_waiting_bytes of at least 1", got=f"{max_waiting_bytes}"
            )
        for name in may_be_lost:
            self._check_known(name)
        self._may_be_lost = frozenset(may_be_lost)
        self._timeout_s = timeout_s
        self._max_waiting_bytes = max_waiting_bytes
        self._turn = turn
        self._lock = RLock()
        # One for each party: a message wakes the one it is for, and not all that wait.
        self._woken = {name: Condition(self._lock) for name in self.parties}
        # The caller's thread waits here: Ctrl-C may reach it at any place, and must not find it with the lock.
        self._news: SimpleQueue[None] = SimpleQueue()
        self._waiting: dict[tuple[str, str], deque[_Message]] = {}
        self._waits: dict[str, _Wait] = {}
        # Parties with a message that came after they last took one.
        self._brought_to: dict[str, None] = {}
        self._steps = dict.fromkeys(self.parties, BEFORE_FIRST_STEP)
        self._saved = dict.fromkeys(self.parties, "")
        self._finished: set[str] = set()
        self._dropouts: dict[str, Dropout] = {}
        self._leaving: dict[str, DropoutNotice] = {}
        self._stop: Stop | None = None

    @property
    def lost(self) -> tuple[str, ...]:
        """The parties lost so far, in the order they were lost."""
        with self._lock:
            return tuple(self._dropouts)

    def channel(self, party: str) -> InProcessChannel:
        """The end of `party`. Raises InputError for a name that is not in the run."""
        self._check_known(party)
        return InProcessChannel(self, party)

    # --- one party's calls -------------------------------------------------------------------------------

    def send(self, party: str, to: str, step: str, payload: bytes, timeout_s: float | None = None) -> None:
        """As `Channel.send`, for the end of `party`."""
        check_peer(to, party, self._woken)
        check_step(step)
        check_payload(payload)
        seconds = self._timeout_s if timeout_s is None else timeout_s
        check_timeout(seconds)
        wait = self._new_wait(party, to, step, receives=False, room_bytes=len(payload), timeout_s=seconds)
        with self._lock:
            self._steps[party] = step
            self._block_until_ready(wait)
            self._waiting.setdefault((party, to), deque()).append(_Message(step, payload))
            self._brought_to[to] = None
            self._wake_where_it_waits_for(to, party)

    def receive(self, party: str, sender: str, step: str, timeout_s: float | None) -> bytes:
        """As `Channel.receive`, for the end of `party`."""
        check_peer(sender, party, self._woken)
        check_step(step)
        seconds = self._timeout_s if timeout_s is None else timeout_s
        check_timeout(seconds)
        wait = self._new_wait(party, sender, step, receives=True, room_bytes=0, timeout_s=seconds)
        with self._lock:
            self._steps[party] = step
            self._block_until_ready(wait)
            queue = self._waiting[sender, party]
            place = next(place for place, message in enumerate(queue) if message.step == step)
            message = queue[place]
            del queue[place]
            if not queue:
                del self._waiting[sender, party]
            self._brought_to.pop(party, None)
            self._wake_where_it_waits_for(sender, party)
            return message.payload

    def note_saved(self, party: str, what: str) -> None:
        """As `Channel.note_saved`, for the end of `party`."""
        with self._lock:
            self._saved[party] = what

    def leave(self, party: str, notice: DropoutNotice) -> None:
        """As `Channel.leave`, for the end of `party`."""
        with self._lock:
            self._leaving[party] = notice
            # A session reads past messages of other steps than the one that its party is in.
            self._steps[party] = notice.step or self._steps[party]

    def expel(self, by: str, party: str, reason: str, notice: DropoutNotice | None = None) -> None:
        """As `Channel.expel`, for the end of `by`."""
        check_peer(party, by, self.parties)
        shown = printable_reason(reason)
        if party not in self._may_be_lost:
            raise InputError(
                f"{by!r} cannot give up on party {party!r}, which may not be lost in this run",
                expected=f"one of: {', '.join(sorted(self._may_be_lost)) or 'nobody'}",
                got=repr(party),
                cure="raise the error instead: that ends the run for all",
            )
        with self._lock:
            self._raise_if_out(by)
            if party not in self._dropouts:
                step, saved = self._steps[party], self._saved[party]
                self._lose(Dropout(party, step, saved, expelled_by=by, reason=shown, notice=notice))
            self._waiting.pop((party, by), None)
            self._wake_everybody()

    # --- the run's calls -----------------------------------------------------------------------------------

    def finish(self, party: str) -> None:
        """`party` has returned: nobody may wait for it any more."""
        with self._lock:
            self._finished.add(party)
            self._wake_everybody()

    def fail(self, party: str, error: BaseException) -> None:
        """`party` has raised `error`: it is lost where it may be; otherwise the run ends as by `stop`.

        What it raises by itself after another party ended the run is a dropout all the same: which party is lost does
        not depend on which of the two threads was faster. An error that only told it of that end is no dropout.
        """
        with self._lock:
            ended = self._stop is not None
            is_told = isinstance(error, PartyStoppedError) and (ended or error.party in self._dropouts)
            ends_run = isinstance(error, HekatError) and error.ends_run
            if party not in self._dropouts:
                if party in self._may_be_lost and not is_told and not ends_run:
                    # The run goes on, perhaps for long: what the role held in memory must not stay until its end.
                    forget_locals(error)
                    step, saved, notice = self._steps[party], self._saved[party], self._own_word(party, error)
                    self._lose(Dropout(party, step, saved, error, after_stop=ended, notice=notice))
                else:
                    self._end(party, error)
            self._finished.add(party)
            self._wake_everybody()

    def stop(self, party: str, error: BaseException) -> None:
        """`party` ends the run with `error`. Only the first stop counts; what was sent before can still be received."""
        with self._lock:
            self._finished.add(party)
            self._end(party, error)
            self._wake_everybody()

    def wait_until_all_finished(self, on_lost: Callable[[PartyLostError], None] | None = None) -> None:
        """Block until every party has finished, stopped or failed; Ctrl-C gets through.

        `on_lost` is called here, without the lock, once for each lost party in the order they were lost.
        """
        told_count = 0
        while True:
            # In this order: a party that has finished by a dropout was counted as lost before.
            all_finished = self._finished.issuperset(self.parties)
            news = list(self._dropouts.values())[told_count:]
            for dropout in news:
                told_count += 1
                if on_lost is not None:
                    on_lost(dropout.to_caller())
            if all_finished and not news:
                return
            if not news:
                with suppress(Empty):
                    self._news.get(timeout=HEAR_EVERY_S)

    def raise_first_failure(self) -> None:
        """Raise what ended the run, if anything did.

        Raises:
            PartyStoppedError: a party stopped; the cause is that party's own exception.
            PartyLostError: every party was lost; this is the last one's, its cause that party's own exception.
            ChannelError: all parties finished, but a message was sent that nobody read.
        """
        with self._lock:
            stop, dropouts = self._stop, list(self._dropouts.values())
            unread = [(pair, queue) for pair, queue in self._waiting.items() if queue and pair[0] not in self._dropouts]
        if stop is not None:
            raise stop.to_caller()
        if len(dropouts) == len(self.parties):
            raise dropouts[-1].to_caller()
        if unread:
            (sender, receiver), queue = unread[0]
            raise ChannelError(
                f"party {receiver!r} finished without reading what {sender!r} sent it",
                expected="every message to be received",
                got=f"{sum(len(queue) for _, queue in unread)} unread, the first for step {queue[0].step!r}",
                cure="the two roles disagree about the steps: compare them",
            )

    def _check_known(self, party: str) -> None:
        if party not in self.parties:
            raise InputError(
                "no such party in this run", expected=f"one of: {', '.join(self.parties)}", got=repr(party)
            )

    # --- leaving (the lock is held) --------------------------------------------------------------------------

    def _end(self, party: str, error: BaseException) -> None:
        if self._stop is not None:
            return
        if not isinstance(error, PartyStoppedError):
            step, saved = self._steps.get(party, BEFORE_FIRST_STEP), self._saved.get(party, "")
            self._stop = Stop(party, step, saved, error, self._own_word(party, error), tuple(self._dropouts))
        elif error.party in self._dropouts:
            self._stop = self._dropouts[error.party].as_stop(error)
        else:
            # It only passes on that another party left too early: the error names that party.
            self._stop = Stop(error.party, error.step, error.saved, error)

    def _own_word(self, party: str, error: BaseException) -> DropoutNotice | None:
        """What the party signed of this error; a role that fails once its session is closed has signed another end."""
        notice = self._leaving.get(party)
        return notice if notice is not None and notice.reason == kind_of(error) else None

    def _lose(self, dropout: Dropout) -> None:
        self._dropouts[dropout.party] = dropout
        for pair in [pair for pair in self._waiting if pair[1] == dropout.party]:
            del self._waiting[pair]

    # --- waiting (the lock is held) --------------------------------------------------------------------------

    def _new_wait(
        self, party: str, peer: str, step: str, *, receives: bool, room_bytes: int, timeout_s: float
    ) -> _Wait:
        return _Wait(party, peer, step, receives, room_bytes, timeout_s, time.monotonic() + timeout_s)

    def _block_until_ready(self, wait: _Wait) -> None:
        try:
            while True:
                ready = self._is_ready(wait)
                # What was sent before the run ended still arrives: a round that all agreed on is saved by all.
                if not (ready and wait.receives) or wait.party in self._dropouts:
                    self._raise_if_out(wait.party)
                if ready:
                    return
                self._raise_if_hopeless(wait)
                left_s = wait.deadline - time.monotonic()
                if wait.stalemate or left_s <= 0:
                    raise self._timeout_error(wait)
                self._waits[wait.party] = wait
                if self._expire_earliest_in_stalemate():
                    continue
                if not wait.receives:
                    # The receiver may learn from this very wait that what it awaits can never come.
                    self._wake_where_it_waits_for(wait.peer, wait.party)
                self._wait(wait.party, None if math.isinf(left_s) else left_s)
        finally:
            self._waits.pop(wait.party, None)

    def _wait(self, party: str, timeout_s: float | None) -> None:
        if self._turn is None:
            self._woken[party].wait(timeout_s)
            return
        self._turn.release()
        try:
            self._woken[party].wait(timeout_s)
        finally:
            # Without the lock: the party that has the turn may need the lock before it gives the turn back.
            self._lock.release()
            self._turn.acquire()
            self._lock.acquire()

    def _is_ready(self, wait: _Wait) -> bool:
        if wait.receives:
            return any(message.step == wait.step for message in self._waiting.get((wait.peer, wait.party), ()))
        if self._is_gone(wait.peer):
            return False
        sent = self._waiting.get((wait.party, wait.peer))
        return not sent or sum(len(message.payload) for message in sent) + wait.room_bytes <= self._max_waiting_bytes

    def _is_hopeless(self, wait: _Wait) -> bool:
        return self._is_gone(wait.peer) or (wait.receives and self._is_overfull(wait))

    def _is_gone(self, party: str) -> bool:
        return party in self._finished or party in self._dropouts

    def _is_overfull(self, wait: _Wait) -> bool:
        """Whether the awaited sender is itself held up by messages that `wait.party` is not asking for."""
        sender = self._waits.get(wait.peer)
        return sender is not None and not sender.receives and sender.peer == wait.party and not self._is_ready(sender)

    def _raise_if_out(self, party: str) -> None:
        """Raise where `party` is lost itself, or the run has ended."""
        if party in self._dropouts:
            raise self._dropouts[party].to_itself()
        if self._stop is not None:
            raise self._stop.to_others()

    def _raise_if_hopeless(self, wait: _Wait) -> None:
        if wait.peer in self._dropouts:
            consequence = (
                f"and sends no step {wait.step!r}, which {wait.party!r} awaits{self._describe_waiting(wait)}"
                if wait.receives
                else f"and will never read step {wait.step!r}, which {wait.party!r} sends"
            )
            raise self._dropouts[wait.peer].to_others(consequence)
        if wait.peer in self._finished:
            last = self._steps[wait.peer]
            lost = "without sending" if wait.receives else "and will never read"
            raise PartyStoppedError(
                f"party {wait.peer!r} has finished {lost} step {wait.step!r}, which {wait.party!r} "
                f"{'awaits' if wait.receives else 'sends'}; its last step was {last!r}{self._describe_waiting(wait)}",
                party=wait.peer,
                step=wait.step,
                saved=self._saved[wait.peer],
            )
        if wait.receives and self._is_overfull(wait):
            raise ChannelError(
                f"party {wait.party!r} awaits step {wait.step!r} of {wait.peer!r}, which can never come",
                expected="messages read in about the order they are sent",
                got=f"no room left for more{self._describe_waiting(wait)}",
                cure="receive those first, or raise max_waiting_bytes",
            )

    def _timeout_error(self, wait: _Wait) -> ChannelTimeoutError:
        if wait.receives:
            what = f"party {wait.party!r} got nothing from {wait.peer!r} in step {wait.step!r}"
        else:
            what = f"party {wait.party!r} found no room at {wait.peer!r} for its message of step {wait.step!r}"
        got = wait.stalemate or f"none in {wait.timeout_s:g} s{self._describe_waiting(wait)}"
        return ChannelTimeoutError(
            what,
            expected=f"an answer within {wait.timeout_s:g} s",
            got=got,
            cure=f"look at what {wait.peer!r} is doing, or allow the step more time",
        )

    def _describe_waiting(self, wait: _Wait) -> str:
        pair = (wait.peer, wait.party) if wait.receives else (wait.party, wait.peer)
        return describe_unread(pair[0], (message.step for message in self._waiting.get(pair, ())))

    def _expire_earliest_in_stalemate(self) -> bool:
        """Where every unfinished party waits and none can go on, let the earliest time-out pass now."""
        if any(party in self._waits and self._is_ready(self._waits[party]) for party in self._brought_to):
            return False  # as nearly always: what one of them waits for is here, and its thread has yet to wake
        live = [party for party in self.parties if not self._is_gone(party)]
        waits = [self._waits[party] for party in live if party in self._waits]
        if len(waits) < len(live) or any(
            wait.stalemate or self._is_ready(wait) or self._is_hopeless(wait) for wait in waits
        ):
            return False
        earliest = min(waits, key=lambda wait: wait.deadline)
        earliest.stalemate = "every party waits: " + ", ".join(
            f"{wait.party!r} {'for' if wait.receives else 'for room at'} {wait.peer!r} in {wait.step!r}"
            for wait in waits
        )
        self._woken[earliest.party].notify()
        return True

    def _wake_where_it_waits_for(self, party: str, peer: str) -> None:
        wait = self._waits.get(party)
        if wait is not None and wait.peer == peer:
            self._woken[party].notify()

    def _wake_everybody(self) -> None:
        self._news.put(None)
        for woken in self._woken.values():
            woken.notify()


class InProcessChannel:
    """One party's end of an `InProcessHub`."""

    def __init__(self, hub: InProcessHub, party: str) -> None:
        self._hub = hub
        self._party = party

    @property
    def party(self) -> str:
        return self._party

    @property
    def parties(self) -> tuple[str, ...]:
        return self._hub.parties

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        """As `Channel.send`."""
        self._hub.send(self._party, to, step, payload, timeout_s)

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        """As `Channel.receive`."""
        return self._hub.receive(self._party, sender, step, timeout_s)

    def note_saved(self, what: str) -> None:
        """As `Channel.note_saved`."""
        self._hub.note_saved(self._party, what)

    def leave(self, notice: DropoutNotice) -> None:
        """As `Channel.leave`."""
        self._hub.leave(self._party, notice)

    def expel(self, party: str, reason: str, notice: DropoutNotice | None = None) -> None:
        """As `Channel.expel`."""
        self._hub.expel(self._party, party, reason, notice)

    def __repr__(self) -> str:
        return f"InProcessChannel({self._party!r} of {', '.join(self.parties)})"
