"""One role of a vertical job, played over a channel on a machine of its own, and what it leaves in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.job.vertical_linear.key_makers import key_makers
from hekat.protocol.vertical_linear.timing_labels import KEYS
from hekat.run.progress import Progress
from hekat.run.role_folder import Place, RoleFolder, alone_caveat, open_role_folder
from hekat.run.vertical.own_labels import own_labels_of
from hekat.run.vertical.play_in_folder import observe_in_folder, play_in_folder
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.run.vertical.resume import StoppedPart, resume_part
from hekat.run.vertical_linear.epochs import EPOCHS, steps_of_job
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.resume import as_begun
from hekat.run.vertical_linear.role import VerticalContext, VerticalRole
from hekat.scheme.paillier import KeyPair, generate_keys
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun
from hekat.summary.vertical_linear.summary import summarise_vertical

EXACTNESS_NEEDS_ONE_PROCESS = (
    "gradients were not held against exact arithmetic, as checks.exactness of the job asks for: that takes one process "
    "that plays all roles"
)


def run_vertical_role(inputs: VerticalInputs, place: Place, stopped: StoppedPart | None = None) -> Mapping[str, Any]:
    """Play the role that `inputs` were loaded for to its end; returns the summary of what it knows.

    `stopped` is the role's run to resume: all roles agree on the epoch before anything is written. Raises what the role
    raises, a time-out with the line of the job that sets it; StateError where the disk takes no files.
    """
    resumed = None if stopped is None else resume_part(EPOCHS, stopped, inputs.job, place.channel)
    if resumed is not None:
        inputs = as_begun(inputs, resumed.kept)
    job, role = inputs.job, place.role
    with open_role_folder(place, job.name, job.digest, PROTOCOL, job.settings.everyone) as folder:
        observer = observe_in_folder(steps_of_job(inputs), folder, place, resumed)
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
                own_labels=own_labels_of(inputs.site, job, role),
                count_predictions=lambda part, rows: PredictionCount.of(inputs.site, folder.path, part).add(rows),
            )
        )
        play_in_folder(played, place, folder, observer, job.timeout_s, PROTOCOL)
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
