"""Where each role keeps upload numbers and releases: in a folder of its site's, or in the run's own.

A run that is resumed goes on with those of the run before it, in place: a copy could be resumed twice, and would not
know what was released in between.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hekat.errors import StateError
from hekat.job.prepare import Prepared
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.upload_state import RELEASES_FILE, UPLOADS_FILE, UploadState, open_upload_state
from hekat.state import Counter
from hekat.state.disk_errors import disk_errors_as_state_errors

STATE_FOLDER = "state"


def roles_without_own_folder(prepared: Prepared) -> tuple[str, ...]:
    """The roles whose site names no folder, so that the run's own serves; none unless protection is `lattice`."""
    return tuple(role for role in _roles(prepared.job.settings) if _own_folder(prepared, role) is None)


def check_upload_states(prepared: Prepared, resumed_folder: Path | None) -> None:
    """Raise StateError where what is kept cannot be used; to be called before anything is written.

    A run that is resumed needs the whole state of the run before it. Without it, one update could be opened in two
    sums, the difference of which is another party's update.
    """
    for role in _roles(prepared.job.settings):
        own = _own_folder(prepared, role)
        if own is None and resumed_folder is None:
            continue
        folder = own if own is not None else Path(resumed_folder or "") / STATE_FOLDER / role
        with disk_errors_as_state_errors(f"the state in {folder} cannot be read"):
            missing = [name for name in (UPLOADS_FILE, RELEASES_FILE) if not (folder / name).is_file()]
        if resumed_folder is None and len(missing) == 2 and (folder.is_dir() or not folder.exists()):
            continue  # a party's first run
        # A counter at 0 says that there never was a record: its making was cut short.
        if missing and (resumed_folder is not None or missing != [RELEASES_FILE] or _is_used(folder)):
            raise StateError(
                f"the state of {role} is not whole",
                expected=f"{UPLOADS_FILE} and {RELEASES_FILE} in {folder}",
                got=f"no {' and no '.join(missing)}",
                cure="put the folder back as the last run left it; else begin a new job, with another training.seed",
            )
        open_upload_state(folder, prepared.job.digest).uploads.close()


def _is_used(folder: Path) -> bool:
    with Counter.open(folder / UPLOADS_FILE) as uploads:
        return uploads.next_value > 0


def keep_states_in(run_folder: Path, resumed_folder: Path | None) -> None:
    """Make the run's own folder of states, or point it to that of the run that is resumed. Raises StateError."""
    folder = run_folder / STATE_FOLDER
    with disk_errors_as_state_errors(f"{folder} could not be made"):
        if resumed_folder is None:
            folder.mkdir(mode=0o700)
        else:
            folder.symlink_to((resumed_folder / STATE_FOLDER).resolve(), target_is_directory=True)


@contextmanager
def open_states(prepared: Prepared, settings: HorizontalSettings, run_folder: Path) -> Iterator[dict[str, UploadState]]:
    """Every role's open state, closed at the end; none where `settings`, the job's or a comparison's, need none.

    Raises StateError where one is damaged or open elsewhere.
    """
    with _open_in(
        prepared, settings, lambda role: _own_folder(prepared, role) or run_folder / STATE_FOLDER / role
    ) as states:
        yield states


@contextmanager
def open_passing_states(prepared: Prepared, settings: HorizontalSettings) -> Iterator[dict[str, UploadState]]:
    """States that are new and do not last, for a comparison inside this process: nobody else ever sees its sums."""
    with disk_errors_as_state_errors("no folder for the states of a comparison can be made"):
        folder = tempfile.TemporaryDirectory(prefix="hekat-compare-")
    with folder as path, _open_in(prepared, settings, lambda role: Path(path) / role) as states:
        yield states


@contextmanager
def _open_in(
    prepared: Prepared, settings: HorizontalSettings, folder_of: Callable[[str], Path]
) -> Iterator[dict[str, UploadState]]:
    with ExitStack() as stack:
        states = {}
        for role in _roles(settings):
            states[role] = open_upload_state(folder_of(role), prepared.job.digest)
            stack.enter_context(states[role].uploads)
        yield states


def _roles(settings: HorizontalSettings) -> tuple[str, ...]:
    """All but the aggregator, which uses up no numbers and opens nothing."""
    if settings.protection != "lattice":
        return ()
    return tuple(name for name in settings.everyone if name != settings.aggregator)


def _own_folder(prepared: Prepared, role: str) -> Path | None:
    site = prepared.site.parties.get(role)
    return None if site is None else site.state
