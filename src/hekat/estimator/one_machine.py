"""All roles of one run in this process: sealed channels, one turn, ledgers in memory that are audited at the end."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from hekat.channel import Channel, PartyKey
from hekat.errors import InputError, JobError, PartyStoppedError, PolicyError
from hekat.ledger import AuditReport, RecordedChannel, audit_bytes
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.stopwatch import Stopwatch

T = TypeVar("T")

Role = Callable[[RecordedChannel, Stopwatch], T]


@dataclass
class OneMachine:
    """Plays roles together, once for each call of `play`; what they left behind is that of the last."""

    protocol: str
    timeout_s: float
    audits: dict[str, AuditReport] = field(default_factory=dict)
    """Of each party what its ledger says that it learned."""
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of each party what its role measured, by step."""
    total_seconds: float = 0.0

    def play(self, roles: Mapping[str, Role[T]], about: object) -> dict[str, T]:
        """What each role returned. `about` is what all agree on: its text is the digest of the run.

        Raises what the first role raised that failed, where that is a refusal of data or settings; else
        PartyStoppedError.
        """
        keys = {name: PartyKey.generate() for name in roles}
        digest = hashlib.sha256(repr(about).encode()).digest()
        sessions = make_sessions(keys, run_id="estimator", protocol=self.protocol, job_digest=digest)

        def play(channel: Channel) -> T:
            name = channel.party
            session = sessions[name]
            return session.play(channel, lambda recorded: roles[name](recorded, session.stopwatch))

        start = time.perf_counter()
        try:
            return play_in_process(dict.fromkeys(roles, play), timeout_s=self.timeout_s)
        except PartyStoppedError as error:
            if isinstance(error.__cause__, InputError | JobError | PolicyError):
                error.__cause__.add_note(f"raised by party {error.party!r} in step {error.step!r}")
                raise error.__cause__ from None
            raise
        finally:
            self.total_seconds = time.perf_counter() - start
            self.audits = {
                name: audit_bytes(session.ledger.data, keys[name].public)
                for name, session in sessions.items()
                if session.ledger is not None
            }
            self.seconds = {name: dict(session.stopwatch.seconds) for name, session in sessions.items()}
