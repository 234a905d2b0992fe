"""One role of a job of trees, played over a channel on a machine of its own, and what it leaves in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from hekat.job.vertical_trees.job_file import PROTOCOL
from hekat.run.role_folder import Place, alone_caveat, open_role_folder
from hekat.run.vertical.play_in_folder import observe_in_folder, play_in_folder
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.run.vertical.resume import StoppedPart, resume_part
from hekat.run.vertical_trees.iterations import ITERATIONS, steps_of_trees
from hekat.run.vertical_trees.load_inputs import TreesInputs
from hekat.run.vertical_trees.role import TreesContext, TreesRole
from hekat.summary.vertical_trees.finished_run import FinishedTreesRun
from hekat.summary.vertical_trees.summary import summarise_trees


def run_trees_role(inputs: TreesInputs, place: Place, stopped: StoppedPart | None = None) -> Mapping[str, Any]:
    """Play the role that `inputs` were loaded for to its end; returns the summary of what it knows.

    `stopped` is the role's run to resume: all roles agree on the iteration before anything is written. Raises what the
    role raises, a time-out with the line of the job that sets it; StateError where the disk takes no files.
    """
    job, role = inputs.job, place.role
    resumed = None if stopped is None else resume_part(ITERATIONS, stopped, job, place.channel)
    with open_role_folder(place, job.name, job.digest, PROTOCOL, job.settings.everyone) as folder:
        observer = observe_in_folder(steps_of_trees(inputs), folder, place, resumed)
        played = TreesRole(
            TreesContext(
                job=job,
                role=role,
                session=folder.session,
                table=inputs.tables.get(role),
                test_table=inputs.test_tables.get(role),
                resumed=None if resumed is None else resumed.kept,
                observer=observer,
                count_predictions=lambda part, rows: PredictionCount.of(inputs.site, folder.path, part).add(rows),
                columns=inputs.columns[role],
                key_pair=inputs.key_pair if role == job.settings.guest else None,
                max_sum_memory_mib=inputs.site.policy.max_sum_memory_mib,
            )
        )
        play_in_folder(played, place, folder, observer, job.timeout_s, PROTOCOL)
        run = FinishedTreesRun(job, {role: played.result}, played.result.seconds)
        summary = summarise_trees(
            run,
            folder.directory.run_id,
            views=[folder.view_ledger()],
            more_caveats=[alone_caveat(role)],
            played="alone",
        )
        folder.write_summary(summary)
        folder.events.write("finished", iterations=len(run.iterations), seconds=run.seconds)
        return cast(dict[str, Any], summary)
