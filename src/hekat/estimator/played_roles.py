"""All roles of an estimator's run, played in this process with keys of their own and ledgers in memory."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from hekat.channel import Channel, PartyKey
from hekat.errors import InputError, JobError, PartyStoppedError, PolicyError
from hekat.ledger import AuditReport, RecordedChannel, audit_bytes
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.stopwatch import Stopwatch

T = TypeVar("T")

Role = Callable[[RecordedChannel, Stopwatch], T]


@dataclass(frozen=True)
class PlayedRoles(Generic[T]):
    """What roles left behind, each by role.

    `results` are what they returned, `audits` what their ledgers say that they learned, and `seconds_by_step` what they
    measured. `seconds` is how long they took together.
    """

    results: dict[str, T]
    audits: dict[str, AuditReport]
    seconds_by_step: dict[str, dict[str, float]]
    seconds: float


def play_roles(roles: Mapping[str, Role[T]], protocol: str, agreed: object, timeout_s: float) -> PlayedRoles[T]:
    """Play all roles to their end; all of them agree on `agreed`, whose text gives the digest of the run.

    Raises the error of the first role that failed, where that refuses data or settings; else PartyStoppedError.
    """
    keys = {name: PartyKey.generate() for name in roles}
    digest = hashlib.sha256(repr(agreed).encode()).digest()
    sessions = make_sessions(keys, run_id="estimator", protocol=protocol, job_digest=digest)

    def play(channel: Channel) -> T:
        session = sessions[channel.party]
        role = roles[channel.party]
        return session.play(channel, lambda recorded: role(recorded, session.stopwatch), counts_rounds=False)

    start = time.perf_counter()
    try:
        results = play_in_process(dict.fromkeys(roles, play), timeout_s=timeout_s)
    except PartyStoppedError as error:
        if isinstance(error.__cause__, InputError | JobError | PolicyError):
            error.__cause__.add_note(f"raised by party {error.party!r} in step {error.step!r}")
            raise error.__cause__ from None
        raise
    seconds = time.perf_counter() - start
    audits = {
        name: audit_bytes(session.ledger.data, keys[name].public)
        for name, session in sessions.items()
        if session.ledger is not None
    }
    return PlayedRoles(
        results, audits, {name: dict(session.stopwatch.seconds) for name, session in sessions.items()}, seconds
    )
