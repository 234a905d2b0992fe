"""One run folder out of the folders of vertical roles that each played in a process of its own."""

from __future__ import annotations

from hekat.launch.local.role_folders import RoleFolders
from hekat.run.run_events import EVENTS_FILE
from hekat.summary.result_file import RESULT_FILE
from hekat.summary.summary_format import SUMMARY_FILE


def join_role_folders(folders: RoleFolders) -> None:
    """Move what the roles left into the run's folder, and remove theirs.

    Raises StateError where processes still play.
    """
    with folders.held():
        _join(folders)


def recover_role_folders(folders: RoleFolders) -> None:
    """Do so where the launcher was killed before it could.

    Raises StateError where processes still play, or for what no roles of this job left.
    """
    if folders.are_left:
        with folders.held():
            folders.check_found()
            _join(folders)


def _join(folders: RoleFolders) -> None:
    folders.join((EVENTS_FILE, RESULT_FILE, SUMMARY_FILE))
    folders.remove()
