"""Every role of a run on columns in a process of its own on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hekat.channel import PartyKey
from hekat.errors import PartyStoppedError
from hekat.job.load_any_job import AnyJob
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.launch.local.processes import JobFiles, RoleProcesses
from hekat.launch.vertical.session import PlayedHere
from hekat.protocol.vertical.phases import TRAINING
from hekat.run.numbered_files import numbers_of
from hekat.run.progress import Progress
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.vertical.checkpoint_files import CHECKPOINTS_FOLDER
from hekat.run.vertical.steps import TrainingSteps
from hekat.state import EventLog, RunDirectory
from hekat.summary.party_views import views_of_parties
from hekat.summary.vertical.role_result import ColumnsResult

R = TypeVar("R", bound=ColumnsResult)


def play_in_processes(
    job: AnyJob,
    steps: TrainingSteps,
    protocol: str,
    result_kind: type[R],
    files: JobFiles,
    directory: RunDirectory,
    party_keys: Mapping[str, PartyKey],
    events: EventLog,
    shown: Progress,
) -> PlayedHere:
    """Play all roles of the job that `files` hold, and read what each left, a result of `result_kind`.

    Raises PartyStoppedError where a role failed, with what was saved.
    """
    assert isinstance(job, ColumnsJob)  # the caller's protocol has such jobs alone
    settings, word = job.settings, steps.form.word

    def tell(role: str, event: Mapping[str, Any]) -> None:
        """Pass on what the guest tells of rows and steps."""
        if role != settings.guest or event.get("event") not in ("intersection", word):
            return
        events.write(**{name: value for name, value in event.items() if name != "time"})
        if event["event"] == word:
            shown.advance(TRAINING, steps.say(event[word], event["loss"]))

    keys = session_keys(party_keys, settings.everyone)
    public = write_public_keys(directory.path, keys)
    on_begin: Callable[[], None] = lambda: shown.begin(TRAINING, steps.most)  # noqa: E731
    processes = RoleProcesses(files, job, directory, keys, on_begin=on_begin, told=tell)
    folders = processes.folders
    try:
        processes.play()
        results = {role: folders.result_of(role, result_kind, protocol) for role in settings.everyone}
    except PartyStoppedError as error:
        numbers = [
            max(numbers_of(folders.folder_of(party) / CHECKPOINTS_FOLDER, party, word), default=0)
            for party in settings.parties
        ]
        stop = error.with_saved(f"checkpoints of {word} {min(numbers)}") if min(numbers) else error
        raise stop from error.__cause__
    finally:
        folders.gather()
    return PlayedHere(results, {}, processes.seconds, views_of_parties(directory.path, public))
