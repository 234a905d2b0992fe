"""The event log of a run: its first line, and its last line about a run that stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from hekat.errors import PartyStoppedError, StateError
from hekat.state import EventLog, RunDirectory
from hekat.state.file_format import this_release

EVENTS_FILE = "events.jsonl"


@contextmanager
def logged_run(directory: RunDirectory, job_name: str, roles: Sequence[str], protocol: str) -> Iterator[EventLog]:
    """The run's event log with its first line, and its last where the body raises.

    Where the disk takes not even the first line, no folder is left behind. Raises StateError.
    """
    path = directory.path / EVENTS_FILE
    try:
        events = EventLog(path)
        events.write(
            "started", run_id=directory.run_id, job=job_name, protocol=protocol, parties=roles, hekat=this_release()
        )
    except StateError:
        path.unlink(missing_ok=True)
        directory.path.rmdir()
        raise
    with events:
        try:
            yield events
        except BaseException as error:
            with suppress(StateError):  # a full disk has already caused an error
                events.write("stopped", **_describe_stop(error))
            raise


def _describe_stop(error: BaseException) -> dict[str, str]:
    if not isinstance(error, PartyStoppedError):
        return {"error": type(error).__name__}
    cause = type(error.__cause__ or error).__name__
    return {"error": cause, "party": error.party, "step": error.step, "saved": error.saved or "nothing"}
