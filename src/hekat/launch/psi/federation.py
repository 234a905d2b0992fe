"""All roles of one set intersection on this machine: threads, sealed channels, ledgers, one outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import Channel, PartyKey, SealedChannel, run_parties
from hekat.job.psi.job_file import PROTOCOL, IntersectionJob
from hekat.ledger import RecordedChannel
from hekat.protocol.psi.roles import Intersection, IntersectionRun, run_intersection
from hekat.protocol.sealed_roles import SealedRoles
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
        sealed_roles = SealedRoles(
            party_keys={name: self.party_keys[name] for name in self.job.settings.parties},
            run_id=self.run_id,
            protocol=PROTOCOL,
            job_digest=self.job.digest,
            ledger_folder=self.ledger_folder,
            pinned=self.job.party_keys,
        )
        self.stopwatches = sealed_roles.stopwatches
        start = time.perf_counter()
        roles = {name: self._role(name, sealed_roles) for name in self.job.settings.parties}
        results = run_parties(roles, timeout_s=self.job.timeout_s, turn=sealed_roles.turn)
        self.seconds = time.perf_counter() - start
        return results

    def _role(self, name: str, sealed_roles: SealedRoles) -> Callable[[Channel], Intersection]:
        def note_traffic(sealed: SealedChannel) -> None:
            self.traffic[name] = RoleBytes(sealed.bytes_sent, sealed.bytes_received)

        def compare(recorded: RecordedChannel) -> Intersection:
            run = IntersectionRun(
                self.stopwatches[name], lambda work, done, total: self.on_progress(f"{name}: {work}", done, total)
            )
            return run_intersection(recorded, self.inputs.compared[name], self.job.settings, run)

        return lambda channel: sealed_roles.play(channel, compare, note_traffic)
