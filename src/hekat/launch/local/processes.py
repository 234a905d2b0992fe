"""Plays every role of a job in a process of its own on this machine, and puts what they leave into one folder."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import PartyKey
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import HekatError, PartyLostError, PartyStoppedError
from hekat.job.load_any_job import AnyJob, roles_of
from hekat.launch.local.children import Children
from hekat.launch.local.event_follower import EventFollower, Told
from hekat.launch.local.relay import LocalRelay
from hekat.launch.local.terms import RunTerms
from hekat.run.own_keys import write_key_folder
from hekat.run.run_events import EVENTS_FILE
from hekat.state import RunDirectory

ROLES_FOLDER = "roles"
# A process that ends is heard of at once; one that only loads much data is waited for.
STARTS_WITHIN_S = 600.0
ROLES_AT_ONCE = "every role ran in a process of its own on this machine; they shared its processors"


@dataclass(frozen=True)
class JobFiles:
    """Where the files lie that each process reads; `site` None: site.toml beside the job."""

    job: Path
    site: Path | None = None
    passphrase: Path | None = None


@dataclass
class RoleProcesses:
    """The processes of one run and what became of them. `told` gets each event that a role writes into its log.

    `keys` sign for every role where the job names no keys. `options` are more words of a role's command.
    """

    files: JobFiles
    job: AnyJob
    directory: RunDirectory
    keys: Mapping[str, PartyKey]
    may_drop_out: Collection[str] = ()
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    on_dropout: Callable[[PartyLostError], None] = lambda error: None
    on_begin: Callable[[], None] = lambda: None
    told: Told = lambda role, event: None
    dropouts: list[PartyLostError] = field(default_factory=list)
    seconds: float = 0.0
    """From when every role was there until the last one had ended."""

    def folder_of(self, role: str) -> Path:
        """Where the role's own run lies until the folders are joined."""
        return self.directory.path / ROLES_FOLDER / role / self.directory.run_id

    def play(self) -> None:
        """Play all roles to the end.

        Raises PartyStoppedError where a role failed, with its reason; what a role is refused for before the run begins;
        ChannelTimeoutError for a role that never comes.
        """
        with disk_errors_as_state_errors("no folder for the run's relay can be made"):
            passing = tempfile.TemporaryDirectory(prefix="hekat-")
        with passing as place:
            children = Children(self._commands(Path(place)), Path(place))
            follower = EventFollower(
                {role: self.folder_of(role) / EVENTS_FILE for role in roles_of(self.job)}, self.told
            )
            try:
                with self._relay(Path(place)) as relay, follower:
                    children.start(lambda role: relay.abandon(_failure(children, role)))
                    self._serve(relay)
                children.end()
            except PartyStoppedError as error:
                children.end()
                reason = children.reason_of(error.party)
                if reason is not None:
                    reason.ends_run = isinstance(error.__cause__, HekatError) and error.__cause__.ends_run
                raise (error if reason is None else _with_reason(error, reason)) from reason or error.__cause__
            finally:
                children.kill()

    def _serve(self, relay: LocalRelay) -> None:
        begun = time.perf_counter()

        def begin() -> None:
            nonlocal begun
            begun = time.perf_counter()
            self.on_begin()

        def note_dropout(error: PartyLostError) -> None:
            self.dropouts.append(error)
            self.on_dropout(error)

        try:
            relay.serve(note_dropout, begin)
        finally:
            self.seconds = time.perf_counter() - begun

    def _relay(self, place: Path) -> LocalRelay:
        terms = RunTerms(self.directory.run_id, tuple(roles_of(self.job)))
        return LocalRelay(
            place / "relay",
            terms,
            self.job.digest,
            timeout_s=self.job.timeout_s,
            join_timeout_s=max(self.job.timeout_s, STARTS_WITHIN_S),
            may_drop_out=self.may_drop_out,
        )

    def _commands(self, place: Path) -> dict[str, list[str]]:
        commands = {}
        public = {name: key.public for name, key in self.keys.items()}
        for number, role in enumerate(roles_of(self.job)):
            words: list[object] = ["run", self.files.job.absolute(), f"--role={role}", "--relay", place / "relay"]
            words += ["--runs", self.folder_of(role).parent, "--json"]
            site = self.files.site or self.files.job.parent / "site.toml"
            words += ["--site", site.absolute()]
            if self.files.passphrase is not None:
                words += ["--passphrase-file", self.files.passphrase.absolute()]
            if not self.job.party_keys:
                folder = place / f"keys-{number}"
                write_key_folder(folder, self.keys[role], public)
                words += ["--keys", folder]
            commands[role] = [str(word) for word in (*words, *self.options.get(role, ()))]
        return commands

    def join_folders(self, apart: Collection[str]) -> None:
        """Move what the roles left into the run's folder, but files of the names in `apart`. Raises StateError.

        The roles' folders stay until `remove_folders`.
        """
        with disk_errors_as_state_errors(f"what the roles left could not be moved into {self.directory.path}"):
            for role in roles_of(self.job):
                own = self.folder_of(role)
                for path in sorted(own.rglob("*")) if own.is_dir() else ():
                    place = self.directory.path / path.relative_to(own)
                    if path.is_dir():
                        place.mkdir(mode=path.stat().st_mode & 0o777, exist_ok=True)
                    elif not (path.parent == own and (path.name in apart or place.exists())):
                        path.replace(place)

    def remove_folders(self) -> None:
        """Remove what is left of the roles' own folders."""
        shutil.rmtree(self.directory.path / ROLES_FOLDER, ignore_errors=True)


def _failure(children: Children, role: str) -> HekatError:
    """Why the run cannot begin: what the role's process said, else that it ended."""
    return children.reason_of(role) or HekatError(
        f"the process of {role} ended before the run began",
        expected="a process for each role",
        got="its end, without a word",
        cure=f"see what it says: hekat run JOB --role {role} --relay PATH",
    )


def with_saved(error: PartyStoppedError, saved: str) -> PartyStoppedError:
    """The same for the whole machine: what any party saved is what the run goes on from."""
    if not saved:
        return error
    what = error.what.removesuffix(f"; saved: {error.saved}")
    return PartyStoppedError(what, party=error.party, step=error.step, saved=saved, cure=error.cure)


def _with_reason(error: PartyStoppedError, reason: HekatError) -> PartyStoppedError:
    what = f"party {error.party!r} stopped in step {error.step!r}: {reason}"
    return PartyStoppedError(what, party=error.party, step=error.step, saved=error.saved)
