"""The live page of a role that plays alone at its site, beside an engine: asked for by the site file, by nothing else.

Engines pass on what their processes print, so the page's address stands in a file of the site.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.launch.role_display import ShownRole
from hekat.live.first_state import first_state
from hekat.live.served_page import served_page
from hekat.live.watch import RunWatch
from hekat.live.web.token import load_token, make_token
from hekat.run.progress import Progress
from hekat.run.run_events import EVENTS_FILE
from hekat.state import EventLog, replace_file


def address_path(runs: Path, run_id: str) -> Path:
    """Where the page's address stands while it is served."""
    return runs / f"{run_id}.live"


@contextmanager
def role_page(shown: ShownRole) -> Iterator[Progress]:
    """Serve the page for the block, and watch the role there.

    The address lies in RUN_ID.live of `runs`, mode 600, with the token where the site names none. A defect of the
    watching ends no role: its kind is the last of the run's events.
    Raises before the block: HekatError where an extra is missing, InputError where the port or the token cannot be
    used, StateError where the address cannot be written.
    """
    live = shown.site.live
    assert live is not None
    token = make_token() if live.token is None else load_token(live.token)
    state = first_state(shown.job, "alone", (shown.role,), None)
    path = address_path(shown.runs, shown.run_id)
    with served_page(state, live.port, token) as page:
        address = f"{page.address}#{token}" if live.token is None else page.address
        with disk_errors_as_state_errors(f"{shown.runs} cannot be made"):
            shown.runs.mkdir(parents=True, exist_ok=True)
        replace_file(path, f"{address}\n".encode())
        watch = RunWatch(state, [page.sink])
        try:
            with watch:
                yield watch
        finally:
            with suppress(OSError):
                path.unlink()
            _tell_failure(watch)


def _tell_failure(watch: RunWatch) -> None:
    """In the folder that the site keeps: nobody may read what an engine's process prints."""
    if watch.failure is None or watch.folder is None:
        return
    with suppress(StateError), EventLog(watch.folder / EVENTS_FILE, is_new=False) as events:
        events.write("unwatched", error=type(watch.failure).__name__)
