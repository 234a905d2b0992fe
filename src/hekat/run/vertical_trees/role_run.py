"""One role of a job of trees, played over a channel on a machine of its own, and what it leaves in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.job.vertical_trees.job_file import PROTOCOL
from hekat.run.role_folder import Place, RoleFolder
from hekat.run.vertical.folder_observer import FolderObserver
from hekat.run.vertical.own_labels import own_labels_of
from hekat.run.vertical.play_in_folder import play_whole_role
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.run.vertical.resume import StoppedPart
from hekat.run.vertical_trees.iterations import IterationCheckpoint, steps_of_trees
from hekat.run.vertical_trees.load_inputs import TreesInputs
from hekat.run.vertical_trees.role import TreesContext, TreesRole
from hekat.summary.party_views import PartyView
from hekat.summary.vertical_trees.finished_run import FinishedTreesRun
from hekat.summary.vertical_trees.summary import summarise_trees
from hekat.summary.vertical_trees.summary_shape import TreesSummary


def run_trees_role(inputs: TreesInputs, place: Place, stopped: StoppedPart | None = None) -> Mapping[str, Any]:
    """Play the role that `inputs` were loaded for to its end; returns the summary of what it knows.

    `stopped` is the role's run to resume. Raises as `play_whole_role`.
    """
    job, role = inputs.job, place.role

    def make_role(folder: RoleFolder, observer: FolderObserver, resumed: IterationCheckpoint | None) -> TreesRole:
        return TreesRole(
            TreesContext(
                job=job,
                role=role,
                session=folder.session,
                table=inputs.tables.get(role),
                test_table=inputs.test_tables.get(role),
                resumed=resumed,
                observer=observer,
                own_labels=own_labels_of(inputs.site, job, role),
                count_predictions=lambda part, rows: PredictionCount.of(inputs.site, folder.path, part).add(rows),
                columns=inputs.columns[role],
                key_pair=inputs.key_pair if role == job.settings.guest else None,
                max_sum_memory_mib=inputs.site.policy.max_sum_memory_mib,
            )
        )

    def summarise(result: Any, run_id: str, views: list[PartyView], caveats: list[str]) -> TreesSummary:
        run = FinishedTreesRun(job, {role: result}, result.seconds)
        return summarise_trees(run, run_id, views=views, more_caveats=caveats, played="alone")

    return play_whole_role(job, PROTOCOL, steps_of_trees(inputs), place, stopped, make_role, summarise)
