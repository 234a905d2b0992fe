"""The sessions of all roles of a run on rows in this process, and the leader's key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hekat.channel import PartyKey
from hekat.job.rows.rows_job import RowsSettings
from hekat.protocol.in_process import make_sessions
from hekat.protocol.role_session import RoleSession
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.progress import Progress
from hekat.run.rows.inputs import RowsInputs
from hekat.scheme.paillier import KeyPair, generate_keys


def open_sessions(
    inputs: RowsInputs,
    settings: RowsSettings,
    keys: Mapping[str, PartyKey],
    run_id: str,
    protocol: str,
    ledger_folder: Path | None,
    progress: Progress,
    *,
    key_pair: KeyPair | None = None,
) -> tuple[dict[str, RoleSession], KeyPair | None]:
    """A session for each role by name, watched by `progress`, and the leader's key pair where one is needed: the given
    one, the one that its site keeps, or a new one. `settings` may differ from the job's."""
    sessions = make_sessions(
        {name: keys[name] for name in settings.everyone},
        run_id=run_id,
        protocol=protocol,
        job_digest=inputs.job.digest,
        ledger_folder=ledger_folder,
        public_keys=inputs.job.party_keys,
    )
    for name, session in sessions.items():
        progress.watch(name, session)
    key_pair = key_pair or inputs.key_pair
    if settings.protection == "paillier" and key_pair is None:
        key_pair = make_leader_key(settings, sessions[settings.leader].stopwatch, progress)
    return sessions, key_pair


def make_leader_key(settings: RowsSettings, stopwatch: Stopwatch, progress: Progress) -> KeyPair:
    """The leader's key, made in the caller's thread: it can take a minute, and Ctrl-C reaches only this thread."""
    with stopwatch.measure("keys"):
        return generate_keys(settings.key_bits, progress=progress.search_key)
