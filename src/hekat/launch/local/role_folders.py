"""RUN/roles/ROLE/RUN_ID/: where roles in processes of their own write, until their launcher makes one folder of all."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError
from hekat.run.run_events import EVENTS_FILE
from hekat.summary.result_file import RESULT_FILE, decode_result
from hekat.summary.summary_format import SUMMARY_FILE

T = TypeVar("T")

ROLES_FOLDER = "roles"
_OF_EACH_ROLE = (EVENTS_FILE, RESULT_FILE, SUMMARY_FILE)


@dataclass(frozen=True)
class RoleFolders:
    """The folders of `roles` within the run's folder `run`, whose name is the run's id."""

    run: Path
    roles: tuple[str, ...]

    @property
    def are_left(self) -> bool:
        """Whether a launcher that was killed left them behind."""
        return self._place.is_dir()

    @contextmanager
    def held(self) -> Iterator[int]:
        """Hold the folders for this process and for every one that inherits the descriptor.

        Raises StateError where other processes hold them: the run is still going on.
        """
        with disk_errors_as_state_errors(f"{self._place} cannot be made"):
            self._place.mkdir(exist_ok=True)
            lock = os.open(self._place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StateError(
                    f"the run in {self.run} is still going on",
                    expected="a run whose processes have all ended",
                    got="a process that plays one of its roles",
                    cure="wait for its end, or end its processes",
                ) from None
            yield lock
        finally:
            os.close(lock)

    def folder_of(self, role: str) -> Path:
        """Where the role's own run lies until the folders are joined."""
        return self._place / role / self.run.name

    def result_of(self, role: str, kind: type[T], protocol: str) -> T:
        """The result, of class `kind`, that the role left. Raises StateError where it is not there or damaged."""
        path = self.folder_of(role) / RESULT_FILE
        return decode_result(read_file(path), kind, protocol, str(path))

    def check_found(self) -> None:
        """Hold what a killed launcher left against the job's roles, before anything is moved.

        Raises StateError for folders of other roles, and for anything that is neither a folder nor a plain file: the
        run's folder may come from somebody else, and a link in it would have files elsewhere moved or written over.
        """
        with disk_errors_as_state_errors(f"{self._place} cannot be read"):
            others = sorted(path.name for path in self._place.iterdir() if path.name not in self.roles)
            odd = [path for path in (self._place, *self._place.rglob("*")) if not _is_plain(path)]
            for path in self._place.glob("*/*/**/"):
                odd += [place for place in self._places_of(path) if place.is_symlink()]
        if others or odd:
            raise StateError(
                f"{self._place} is not what the roles of this job left",
                expected=f"folders and plain files of {', '.join(self.roles)}",
                got=f"folders of {', '.join(others)}" if others else str(odd[0]),
                cure="resume with the job that the run was begun with, from the folder as the run left it",
            )

    def gather(self) -> None:
        """Move what the roles left into the run's folder, and remove theirs.

        Raises StateError where processes still play.
        """
        with self.held():
            self.join()
            self.remove()

    def recover(self) -> None:
        """Do so where the launcher was killed before it could.

        Raises StateError where processes still play, or for what no roles of this job left.
        """
        if self.are_left:
            with self.held():
                self.check_found()
                self.join()
                self.remove()

    def join(self, apart: Collection[str] = ()) -> None:
        """Move what the roles left into the run's folder. Raises StateError. The roles' folders stay until `remove`.

        Files named in `apart` stay, and the files that every role writes of its own part: events, result, summary.
        """
        stay = {*_OF_EACH_ROLE, *apart}
        with disk_errors_as_state_errors(f"what the roles left could not be moved into {self.run}"):
            for role in self.roles:
                own = self.folder_of(role)
                for path in sorted(own.rglob("*")) if own.is_dir() else ():
                    place = self.run / path.relative_to(own)
                    if path.is_dir():
                        place.mkdir(mode=path.stat().st_mode & 0o777, exist_ok=True)
                    elif not (path.parent == own and (path.name in stay or place.exists())):
                        path.replace(place)

    def remove(self) -> None:
        """Remove what is left of the roles' own folders."""
        shutil.rmtree(self._place, ignore_errors=True)

    def _places_of(self, folder: Path) -> list[Path]:
        """Where files of a role's own folder go: the folder of that name in the run, and those above it."""
        parts = folder.relative_to(self._place).parts[2:]
        return [self.run.joinpath(*parts[: count + 1]) for count in range(len(parts))]

    @property
    def _place(self) -> Path:
        return self.run / ROLES_FOLDER


def _is_plain(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISDIR(mode) or stat.S_ISREG(mode)
