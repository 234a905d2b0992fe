"""The folder of a run in which one role plays alone: as the folder of all roles, with this role's files in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekat.channel import Channel
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.protocol.role_session import LEDGER_FOLDER, RoleSession, SessionTerms
from hekat.run.own_keys import OwnKeys
from hekat.run.progress import Progress
from hekat.run.run_events import logged_run
from hekat.run.session_keys import save_public_keys
from hekat.state import EventLog, RunDirectory, create_named_run_directory, replace_file
from hekat.summary.party_views import PartyView, view_of_ledger
from hekat.summary.result_file import RESULT_FILE, encode_result
from hekat.summary.summary_format import write_summary


@dataclass(frozen=True)
class Place:
    """Where one role plays: over `channel`, in the run `run_id`, with its keys, into a new folder under `root`."""

    role: str
    channel: Channel
    run_id: str
    root: Path
    keys: OwnKeys
    progress: Progress


@dataclass(frozen=True)
class RoleFolder:
    """The open folder of one role's run."""

    directory: RunDirectory
    events: EventLog
    session: RoleSession

    @property
    def path(self) -> Path:
        return self.directory.path

    def write_result(self, result: Any, protocol: str) -> None:
        """Write result.json. Raises StateError."""
        replace_file(self.path / RESULT_FILE, encode_result(result, protocol), mode=0o600)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json. Raises StateError."""
        write_summary(self.path, summary)

    def view_ledger(self) -> PartyView:
        """What the role's own ledger says that it learned. Raises LedgerError."""
        assert self.session.ledger_path is not None
        return view_of_ledger(self.session.ledger_path, self.session.key.public)


@contextmanager
def open_role_folder(
    place: Place, job_name: str, job_digest: bytes, protocol: str, roles: Sequence[str]
) -> Iterator[RoleFolder]:
    """Make the folder, with the keys of every role, an event log and a place for the role's ledger.

    Raises StateError where it cannot be made or is there already.
    """
    directory = create_named_run_directory(place.root, place.run_id)
    with logged_run(directory, job_name, roles, protocol) as events:
        place.progress.open_folder(directory.path)
        with disk_errors_as_state_errors(f"{directory.path / LEDGER_FOLDER} could not be made"):
            (directory.path / LEDGER_FOLDER).mkdir()
        save_public_keys(directory.path, place.keys.public)
        terms = SessionTerms(place.run_id, protocol, job_digest, place.keys.public)
        ledger = directory.path / LEDGER_FOLDER / f"{place.role}.jsonl"
        session = RoleSession(terms, place.keys.own, ledger)
        place.progress.watch(place.role, session)
        yield RoleFolder(directory, events, session)


def alone_caveat(role: str) -> str:
    """What a reader of one role's own summary has to know."""
    return f"this is what {role} knows of the run: figures of the other roles are at their sites, and not here"
