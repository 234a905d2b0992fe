"""One role of a training on an encrypted model, played over a channel on a machine of its own, and what it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hekat.errors import PartyStoppedError, StateError
from hekat.job.encrypted_model.job_file import PROTOCOL
from hekat.job.encrypted_model.key_makers import key_makers
from hekat.protocol.encrypted_model.party_run import ShareState
from hekat.protocol.encrypted_model.timing_labels import KEYS
from hekat.run.encrypted_model.checkpoint_files import load_state, saved_rounds
from hekat.run.encrypted_model.folder_observer import FolderObserver
from hekat.run.encrypted_model.load_inputs import EncryptedModelInputs
from hekat.run.encrypted_model.role import EncryptedModelContext, EncryptedModelRole
from hekat.run.progress import Progress
from hekat.run.resume_point import ResumePoint, agree_on_point
from hekat.run.role_folder import Place, RoleFolder, alone_caveat, open_role_folder
from hekat.run.rows.kept_rows import check_rows_kept, keep_rows
from hekat.run.timeout_hint import name_timeout_key
from hekat.scheme.paillier import KeyPair, generate_keys
from hekat.summary.encrypted_model.finished_run import FinishedEncryptedModelRun
from hekat.summary.encrypted_model.summary import summarise_encrypted_model


@dataclass(frozen=True)
class StoppedRole:
    """The folder of a role's stopped run, and the rounds that it has saved."""

    folder: Path
    numbers: tuple[int, ...]


def load_stopped_role(folder: Path, inputs: EncryptedModelInputs, role: str) -> StoppedRole:
    """Read what the role left in the folder of its own run.

    Raises StateError where it has no checkpoint there, one that is damaged or of another job, or other rows now.
    """
    numbers = tuple(saved_rounds(folder, role))
    if not numbers:
        raise StateError(
            f"there is nothing to resume in {folder}",
            expected="the folder of this role's own run, with its checkpoints/",
            got="no checkpoint" if folder.is_dir() else "no such folder",
            cure="begin a new run; one that stopped in its first round has saved nothing",
        )
    for number in numbers:
        load_state(folder, inputs.job, role, number)
    check_rows_kept(folder, inputs.tables)
    return StoppedRole(folder, numbers)


def run_encrypted_model_role(
    inputs: EncryptedModelInputs, place: Place, stopped: StoppedRole | None = None
) -> Mapping[str, Any]:
    """Play the role that `inputs` were loaded for to its end; returns the summary of what it knows.

    `stopped` is the role's run to resume: all roles agree on the round before anything is written. Raises what the role
    raises, a time-out with the line of the job that sets it; StateError where the disk takes no files.
    """
    job, role = inputs.job, place.role
    resumed = None if stopped is None else _resume(inputs, place, stopped)
    with open_role_folder(place, job.name, job.digest, PROTOCOL, job.settings.everyone) as folder:
        observer = FolderObserver(folder.path, job, role, folder.events, place.progress)
        if resumed is not None and stopped is not None:
            folder.events.write("resumed", run=stopped.folder.name, rounds_done=resumed.rounds_done)
            observer.save(role, resumed)
        keep_rows(folder.path, inputs.tables)
        observer.begin(job.settings.training.rounds - (0 if resumed is None else resumed.rounds_done))
        key_pair = _key_pair_of(inputs, role, folder, place.progress)
        played = EncryptedModelRole(
            EncryptedModelContext(inputs, role, folder.session, observer, key_pair, resumed=resumed)
        )
        _play(played, place, folder, observer)
        run = FinishedEncryptedModelRun(job, {role: played.result}, played.result.seconds)
        summary = summarise_encrypted_model(
            run,
            folder.directory.run_id,
            views=[folder.view_ledger()],
            more_caveats=[alone_caveat(role)],
            played="alone",
        )
        folder.write_summary(summary)
        folder.events.write("finished", rounds=len(run.rounds), seconds=run.seconds)
        return cast(dict[str, Any], summary)


def _play(played: EncryptedModelRole, place: Place, folder: RoleFolder, observer: FolderObserver) -> None:
    """Play the role and write its result, however it ends."""
    timeout_s = played.job.timeout_s
    try:
        played.play(place.channel)
    except PartyStoppedError as error:
        # What lies here counts, whatever the party that stopped had saved.
        raise error.with_saved(observer.saved((place.role,)) or error.saved) from error.__cause__
    except BaseException as error:
        raise (name_timeout_key(error, timeout_s) or error) from error.__cause__
    finally:
        with suppress(Exception):  # the role's own error matters, not its missing figures
            folder.write_result(played.result, PROTOCOL)


def _resume(inputs: EncryptedModelInputs, place: Place, stopped: StoppedRole) -> ShareState:
    """Agree with all other roles on the round, and take this role's own state. Raises StateError."""
    offers = [ResumePoint(number) for number in stopped.numbers]
    point = agree_on_point(place.channel, offers, inputs.job.settings.everyone)
    return load_state(stopped.folder, inputs.job, place.role, point.number)


def _key_pair_of(inputs: EncryptedModelInputs, role: str, folder: RoleFolder, progress: Progress) -> KeyPair | None:
    """The Paillier key of a role that makes one: its site's, else one that is made now."""
    if role in inputs.key_pairs or role not in key_makers(inputs.job):
        return inputs.key_pairs.get(role)
    with folder.session.stopwatch.measure(KEYS):
        return generate_keys(inputs.job.settings.key_bits, progress=progress.search_key)
