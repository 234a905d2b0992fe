"""Watches a run from a thread of its own: reads what the run writes and says, and passes snapshots on."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from hekat.launch.local.role_folders import RoleFolders
from hekat.live.facts import (
    EventWritten,
    Fact,
    LedgerWritten,
    MachineRead,
    PartyLost,
    PhaseAdvanced,
    PhaseBegun,
    RoleRead,
    RunEnded,
    TimePassed,
    WorkReached,
)
from hekat.live.figures import MachineReader, load_role, read_role
from hekat.live.ledger_line import read_ledger_line
from hekat.live.new_lines import NewLines
from hekat.live.reduce import advance
from hekat.live.state import LiveState
from hekat.protocol.role_session import LEDGER_FOLDER, RoleSession
from hekat.run.progress import Silence
from hekat.run.run_events import EVENTS_FILE

LOOK_EVERY_S = 0.25
_MOST_WAITING = 10_000
_END_WITHIN_S = 5.0


class Sink(Protocol):
    """Takes each snapshot with the facts that led to it; called in the watching thread, so it must not wait."""

    def take(self, state: LiveState, facts: Sequence[Fact]) -> None: ...


@dataclass
class RunWatch(Silence):
    """Is told of the run as a display is, and follows its files; the run never waits for it.

    Used as a context manager around the run: an exception that leaves the block is how the run stopped. `figures` are
    the files in which roles with processes of their own write what they have worked, by role. Without `follows_files`
    only figures are read.
    """

    state: LiveState
    sinks: Sequence[Sink]
    figures: Mapping[str, Path] = field(default_factory=dict)
    follows_files: bool = True
    folder: Path | None = None
    """The run's, once it is made."""
    failure: BaseException | None = None
    """What ended the watching before the run; the run went on."""
    _told: deque[Fact] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    _sessions: dict[str, tuple[RoleSession, float]] = field(default_factory=dict)
    """By role its session, and when it began by the monotonic clock."""
    _events: NewLines | None = None
    _ledgers: dict[str, NewLines] = field(default_factory=dict)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _machine: MachineReader = field(default_factory=MachineReader)

    def open_folder(self, folder: Path) -> None:
        if not self.follows_files:
            return
        self.folder = folder
        roles = RoleFolders(folder, self.state.run.own_roles)
        self._ledgers = {
            role: NewLines([place / LEDGER_FOLDER / f"{role}.jsonl" for place in (folder, roles.folder_of(role))])
            for role in self.state.run.own_roles
        }
        self._events = NewLines([folder / EVENTS_FILE])

    def begin(self, phase: str, step_count: int) -> None:
        self._told.append(PhaseBegun(phase, step_count))

    def advance(self, phase: str, text: str) -> None:
        self._told.append(PhaseAdvanced(phase))

    def reach(self, work: str, done: int, total: int) -> None:
        self._told.append(WorkReached(work, done, total))

    def search_key(self, tried: int, found: int) -> None:
        self._told.append(WorkReached("making the key: primes", found, 2))

    def note_dropout(self, party: str, step: str, reason: str) -> None:
        self._told.append(PartyLost(party, step, reason))

    def watch(self, role: str, session: RoleSession) -> None:
        self._sessions = {**self._sessions, role: (session, time.monotonic())}

    def __enter__(self) -> RunWatch:
        self._thread = threading.Thread(target=self._guard(self._follow), name="hekat-live-watch", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        assert self._thread is not None
        self._is_over.set()
        self._thread.join(_END_WITHIN_S)
        if self._thread.is_alive() or self.failure is not None:
            return
        # What was written since the last look belongs to the run, and the state before its end is passed on too.
        self._guard(self._look)()
        self._guard(lambda: self._pass_on([RunEnded("" if kind is None else kind.__name__)]))()

    def _guard(self, work: Callable[[], None]) -> Callable[[], None]:
        def guarded() -> None:
            try:
                work()
            except Exception as error:  # a defect here is told at the end, and ends no run
                self.failure = error

        return guarded

    def _follow(self) -> None:
        while not self._is_over.wait(LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        facts: list[Fact] = []
        while self._told:
            facts.append(self._told.popleft())
        if self._events is not None:
            facts += [EventWritten(event) for event in self._events.look()]
        for role, lines in self._ledgers.items():
            for content in lines.look():
                if (line := read_ledger_line(role, content)) is not None:
                    facts.append(LedgerWritten(line))
        # Lines of several roles in the order in which they were written.
        facts.sort(key=lambda fact: fact.line.time if isinstance(fact, LedgerWritten) else "")
        alone = len(self.state.run.own_roles) == 1
        for role, (session, begun) in self._sessions.items():
            # Comparisons in this process are played in turn, wherever the roles play later.
            elapsed_s = time.monotonic() - begun if self.state.run.played == "alone" else None
            if (work := read_role(role, session, alone=alone, elapsed_s=elapsed_s)) is not None:
                facts.append(RoleRead(work))
        facts += [RoleRead(work) for role, path in self.figures.items() if (work := load_role(path, role)) is not None]
        facts.append(MachineRead(self._machine.read()))
        facts.append(TimePassed(datetime.now(UTC).isoformat(timespec="milliseconds")))
        self._pass_on(facts)

    def _pass_on(self, facts: Sequence[Fact]) -> None:
        for fact in facts:
            self.state = advance(self.state, fact)
        for sink in self.sinks:
            sink.take(self.state, facts)
