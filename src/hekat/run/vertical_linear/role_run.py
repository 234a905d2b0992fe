"""One role of a vertical job, played over a channel on a machine of its own, and what it leaves in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from hekat.errors import PartyStoppedError
from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.job.vertical_linear.key_makers import key_makers
from hekat.protocol.vertical.phases import TRAINING
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import EpochRecord
from hekat.protocol.vertical_linear.timing_labels import KEYS
from hekat.run.predictions import PARTS_FOLDER
from hekat.run.progress import Progress
from hekat.run.role_folder import Place, RoleFolder, alone_caveat, open_role_folder
from hekat.run.timeout_hint import name_timeout_key
from hekat.run.vertical_linear.checkpoint_files import CHECKPOINTS_FOLDER, PartyCheckpoint, save_party_checkpoint
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.part_file import save_part
from hekat.run.vertical_linear.prediction_count import PredictionCount
from hekat.run.vertical_linear.resume import StoppedPart, resume_part, with_limit
from hekat.run.vertical_linear.role import VerticalContext, VerticalObserver, VerticalRole
from hekat.scheme.paillier import KeyPair, generate_keys
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun
from hekat.summary.vertical_linear.summary import summarise_vertical

EXACTNESS_NEEDS_ONE_PROCESS = (
    "gradients were not held against exact arithmetic, as checks.exactness of the job asks for: that takes one process "
    "that plays all roles"
)


class FolderObserver(VerticalObserver):
    """Keeps one party's saved state in the folder of its run, and reports its epochs."""

    def __init__(self, inputs: VerticalInputs, folder: RoleFolder, progress: Progress) -> None:
        self._job, self._columns, self._folder, self._progress = inputs.job, inputs.columns, folder, progress
        self._is_training = False
        self.saved = ""

    def note_matching(self, role: str, work: str, done: int, total: int) -> None:
        self._progress.reach(f"{role}: {work}", done, total)

    def note_common(self, role: str, count: int) -> None:
        self._folder.events.write("intersection", kind=self._job.intersection_kind, common=count)
        self._begin_training()

    def note_epoch(self, role: str, record: EpochRecord) -> None:
        self._begin_training()  # an arbiter matches no rows
        self._folder.events.write("epoch", epoch=record.epoch, loss=record.loss)
        text = f"epoch {record.epoch}" + ("" if record.loss is None else f", loss {record.loss:.4f}")
        self._progress.advance(TRAINING, text)

    def _begin_training(self) -> None:
        if not self._is_training:
            self._is_training = True
            self._progress.begin(TRAINING, self._job.settings.training.epochs)

    def save(self, role: str, kept: PartyCheckpoint) -> None:
        save_party_checkpoint(self._folder.path / CHECKPOINTS_FOLDER, self._job, role, kept)
        self.saved = f"checkpoint of epoch {kept.state.epochs_done}"

    def save_part(self, part: ModelPart) -> None:
        save_part(self._folder.path / PARTS_FOLDER, self._job, part, self._columns[part.party])


def run_vertical_role(inputs: VerticalInputs, place: Place, stopped: StoppedPart | None = None) -> Mapping[str, Any]:
    """Play the role that `inputs` were loaded for to its end; returns the summary of what it knows.

    `stopped` is the role's run to resume: all roles agree on the epoch before anything is written. Raises what the role
    raises, a time-out with the line of the job that sets it; StateError where the disk takes no files.
    """
    resumed = None if stopped is None else resume_part(stopped, inputs, place.channel)
    if resumed is not None:
        inputs = with_limit(inputs, resumed)
    job, role = inputs.job, place.role
    with open_role_folder(place, job.name, job.digest, PROTOCOL, job.settings.everyone) as folder:
        observer = FolderObserver(inputs, folder, place.progress)
        if resumed is not None:
            folder.events.write("resumed", run=resumed.folder.name, epochs_done=resumed.point.number)
            if resumed.kept is not None:
                observer.save(role, resumed.kept)
        played = VerticalRole(
            VerticalContext(
                job=job,
                role=role,
                session=folder.session,
                table=inputs.tables.get(role),
                test_table=inputs.test_tables.get(role),
                key_pair=_key_pair_of(inputs, role, folder, place.progress),
                resumed=None if resumed is None else resumed.kept,
                observer=observer,
                count_predictions=lambda part, rows: PredictionCount.of(inputs.site, folder.path, part).add(rows),
            )
        )
        try:
            played.play(place.channel)
        except PartyStoppedError as error:
            # What lies here counts, whatever the party that stopped had saved.
            raise error.with_saved(observer.saved or error.saved) from error.__cause__
        except BaseException as error:
            raise (name_timeout_key(error, job.timeout_s) or error) from error.__cause__
        finally:
            with suppress(Exception):  # the role's own error matters, not its missing figures
                folder.write_result(played.result, PROTOCOL)
        run = FinishedVerticalRun(job, {role: played.result}, played.result.seconds)
        summary = summarise_vertical(
            run,
            folder.directory.run_id,
            views=[folder.view_ledger()],
            more_caveats=[alone_caveat(role), *([EXACTNESS_NEEDS_ONE_PROCESS] if job.check_exactness else [])],
            played="alone",
        )
        folder.write_summary(summary)
        folder.events.write("finished", epochs=len(run.epochs), seconds=run.seconds)
        return cast(dict[str, Any], summary)


def _key_pair_of(inputs: VerticalInputs, role: str, folder: RoleFolder, progress: Progress) -> KeyPair | None:
    """The Paillier key of a role that makes one: its site's, else one that is made now."""
    if role in inputs.key_pairs or role not in key_makers(inputs.job):
        return inputs.key_pairs.get(role)
    with folder.session.stopwatch.measure(KEYS):
        return generate_keys(inputs.job.settings.key_bits, progress=progress.search_key)
