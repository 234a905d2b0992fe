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
from hekat.launch.local.relay_channel import JOINS_WITHIN_S
from hekat.launch.local.role_folders import RoleFolders
from hekat.launch.local.terms import RunTerms
from hekat.run.own_keys import write_key_folder
from hekat.run.run_events import EVENTS_FILE
from hekat.state import RunDirectory

_KEYS = "keys-"
ROLES_AT_ONCE = "every role ran in a process of its own on this machine; they shared its processors"


@dataclass(frozen=True)
class JobFiles:
    """Where the files lie that each process reads; `site` None: site.toml beside the job.

    `figures` are those that each role's process keeps its figures in, by role; none where nobody looks.
    """

    job: Path
    site: Path | None = None
    passphrase: Path | None = None
    figures: Mapping[str, Path] = field(default_factory=dict)


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
    trace: Callable[[PartyStoppedError, Sequence[PartyLostError]], PartyStoppedError] = lambda error, dropouts: error
    """Whose stop it is that ends the run, after which dropouts."""
    dropouts: list[PartyLostError] = field(default_factory=list)
    seconds: float = 0.0
    """From when every role was there until the last one had ended."""

    @property
    def folders(self) -> RoleFolders:
        """Where the roles write until they have ended."""
        return RoleFolders(self.directory.path, tuple(roles_of(self.job)))

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
                {role: self.folders.folder_of(role) / EVENTS_FILE for role in roles_of(self.job)}, self.told
            )
            try:
                with self.folders.held() as lock, self._relay(Path(place)) as relay, follower:
                    children.start(lambda role: relay.abandon(_failure(children, role)), inherited=lock)
                    self._serve(relay, lambda: remove_key_folders(Path(place)))
                children.end()
                for lost in self.dropouts:
                    lost.__cause__ = children.reason_of(lost.party) or lost.__cause__
            except PartyStoppedError as error:
                children.end()
                stop = self.trace(error, self.dropouts)
                stop = with_reason(stop, children.reason_of(stop.party))
                raise stop from stop.__cause__
            finally:
                children.kill()

    def _serve(self, relay: LocalRelay, on_all_joined: Callable[[], None]) -> None:
        begun = time.perf_counter()

        def begin() -> None:
            nonlocal begun
            begun = time.perf_counter()
            on_all_joined()
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
            # A process that ends is heard of at once; one that only loads much data has time.
            join_timeout_s=max(self.job.timeout_s, JOINS_WITHIN_S),
            may_drop_out=self.may_drop_out,
        )

    def _commands(self, place: Path) -> dict[str, list[str]]:
        commands = {}
        public = {name: key.public for name, key in self.keys.items()}
        for number, role in enumerate(roles_of(self.job)):
            words: list[object] = ["run", self.files.job.absolute(), f"--role={role}", "--relay", place / "relay"]
            words += ["--runs", self.folders.folder_of(role).parent, "--json"]
            site = self.files.site or self.files.job.parent / "site.toml"
            words += ["--site", site.absolute()]
            if self.files.passphrase is not None:
                words += ["--passphrase-file", self.files.passphrase.absolute()]
            if role in self.files.figures:
                words += ["--figures", self.files.figures[role].absolute()]
            if not self.job.party_keys:
                folder = place / f"{_KEYS}{number}"
                write_key_folder(folder, self.keys[role], public)
                words += ["--keys", folder]
            commands[role] = [str(word) for word in (*words, *self.options.get(role, ()))]
        return commands


def remove_key_folders(place: Path) -> None:
    """Leave none of the run's private keys on the disk: every role has read its own by the time that it joins."""
    with disk_errors_as_state_errors(f"the run's keys in {place} could not be removed"):
        for folder in place.glob(f"{_KEYS}*"):
            shutil.rmtree(folder)


def _failure(children: Children, role: str) -> HekatError:
    """Why the run cannot begin: what the role's process said, else that it ended."""
    return children.reason_of(role) or HekatError(
        f"the process of {role} ended before the run began",
        expected="a process for each role",
        got="its end, without a word",
        cure=f"see what it says: hekat run JOB --role {role} --relay PATH",
    )


def with_reason(error: PartyStoppedError, reason: HekatError | None) -> PartyStoppedError:
    """The same stop with what the party's process said of it, as its cause; `error` where it said nothing.

    Whether the party's error ends the run for all was told by the relay, and goes along.
    """
    if reason is None:
        return error
    reason.ends_run = isinstance(error.__cause__, HekatError) and error.__cause__.ends_run
    what = f"party {error.party!r} stopped in step {error.step!r}: {reason}"
    stop = PartyStoppedError(what, party=error.party, step=error.step, saved=error.saved)
    stop.__cause__ = reason
    return stop
