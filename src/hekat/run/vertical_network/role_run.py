"""One role of a job of a split network, played over a channel on a machine of its own, and what it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.job.vertical_network.job_file import PROTOCOL
from hekat.run.role_folder import Place, RoleFolder
from hekat.run.vertical.folder_observer import FolderObserver
from hekat.run.vertical.own_labels import check_keeps_flips, own_labels_of
from hekat.run.vertical.play_in_folder import play_whole_role
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.run.vertical.resume import StoppedPart
from hekat.run.vertical_network.epochs import NetworkCheckpoint, steps_of_network
from hekat.run.vertical_network.load_inputs import NetworkInputs
from hekat.run.vertical_network.role import NetworkContext, NetworkRole
from hekat.summary.party_views import PartyView
from hekat.summary.vertical_network.finished_run import FinishedNetworkRun
from hekat.summary.vertical_network.summary import summarise_network
from hekat.summary.vertical_network.summary_shape import NetworkSummary


def run_network_role(inputs: NetworkInputs, place: Place, stopped: StoppedPart | None = None) -> Mapping[str, Any]:
    """Play the role that `inputs` were loaded for to its end; returns the summary of what it knows.

    `stopped` is the role's run to resume. Raises as `play_whole_role`, and JobError where a guest keeps its flips of
    labels among runs.
    """
    job, role = inputs.job, place.role
    if role == job.settings.guest:
        check_keeps_flips(inputs.site, job, place.root)

    def make_role(folder: RoleFolder, observer: FolderObserver, resumed: NetworkCheckpoint | None) -> NetworkRole:
        return NetworkRole(
            NetworkContext(
                job=job,
                role=role,
                session=folder.session,
                table=inputs.tables.get(role),
                test_table=inputs.test_tables.get(role),
                resumed=resumed,
                observer=observer,
                own_labels=own_labels_of(inputs.site, job, role),
                bottom=inputs.bottoms[role],
                top=inputs.tops[role],
                count_predictions=lambda part, rows: PredictionCount.of(inputs.site, folder.path, part).add(rows),
            )
        )

    def summarise(result: Any, run_id: str, views: list[PartyView], caveats: list[str]) -> NetworkSummary:
        run = FinishedNetworkRun(job, {role: result}, result.seconds)
        return summarise_network(run, run_id, views=views, more_caveats=caveats, played="alone")

    return play_whole_role(job, PROTOCOL, steps_of_network(inputs), place, stopped, make_role, summarise)
