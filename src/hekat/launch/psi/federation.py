"""All roles of one set intersection on this machine: threads, sealed channels, ledgers, one outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import Channel, PartyKey
from hekat.job.psi.job_file import PROTOCOL, IntersectionJob
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.psi.roles import Intersection, IntersectionRun, run_intersection
from hekat.protocol.role_session import RoleSession
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.psi.load_inputs import IntersectionInputs


@dataclass(frozen=True)
class RoleBytes:
    """Sealed bytes of one role, greetings and signatures included."""

    sent: int
    received: int


@dataclass
class IntersectionFederation:
    """One intersection's parties and what they leave behind. `on_progress(work, done, total)` comes from any thread."""

    inputs: IntersectionInputs
    party_keys: Mapping[str, PartyKey]
    run_id: str
    ledger_folder: Path | None
    on_progress: Callable[[str, int, int], None] = lambda work, done, total: None
    stopwatches: dict[str, Stopwatch] = field(default_factory=dict)
    traffic: dict[str, RoleBytes] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def job(self) -> IntersectionJob:
        return self.inputs.job

    def run(self) -> dict[str, Intersection]:
        """What each party learned; raises PartyStoppedError naming the party and step where a role failed."""
        sessions = make_sessions(
            {name: self.party_keys[name] for name in self.job.settings.parties},
            run_id=self.run_id,
            protocol=PROTOCOL,
            job_digest=self.job.digest,
            ledger_folder=self.ledger_folder,
            public_keys=self.job.party_keys,
        )
        self.stopwatches = {name: session.stopwatch for name, session in sessions.items()}
        start = time.perf_counter()
        roles = {name: self._role(name, sessions[name]) for name in self.job.settings.parties}
        results = play_in_process(roles, timeout_s=self.job.timeout_s)
        self.seconds = time.perf_counter() - start
        return results

    def _role(self, name: str, session: RoleSession) -> Callable[[Channel], Intersection]:
        def compare(recorded: RecordedChannel) -> Intersection:
            run = IntersectionRun(
                self.stopwatches[name], lambda work, done, total: self.on_progress(f"{name}: {work}", done, total)
            )
            return run_intersection(recorded, self.inputs.compared[name], self.job.settings, run)

        def play(channel: Channel) -> Intersection:
            try:
                return session.play(channel, compare)
            finally:
                self.traffic[name] = RoleBytes(session.sent_bytes, session.received_bytes)

        return play
