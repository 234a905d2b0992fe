"""A job of a split network as a run: rows matched, the network trained, and what the run leaves behind in a folder.

The folder is as `hekat.launch.vertical.run_job` says; summary.json has the shape `summary_shape.NetworkSummary`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hekat.job.vertical_network.job_file import PROTOCOL, NetworkJob
from hekat.launch.local.processes import JobFiles
from hekat.launch.run_result import RunResult
from hekat.launch.vertical.run_job import RoleOfRun, run_apart, run_here
from hekat.launch.vertical.session import PlayedHere
from hekat.launch.vertical_network.centralised import compare_centralised
from hekat.run.progress import Progress
from hekat.run.vertical.own_labels import check_keeps_flips, own_labels_of
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.run.vertical_network.epochs import steps_of_network
from hekat.run.vertical_network.load_inputs import NetworkInputs
from hekat.run.vertical_network.role import NetworkContext, NetworkRole, OwnNetwork
from hekat.run.vertical_network.warm_start import NetworkStart, load_network_start
from hekat.summary.run_facts import Played
from hekat.summary.vertical_network.finished_run import FinishedNetworkRun
from hekat.summary.vertical_network.role_result import NetworkResult
from hekat.summary.vertical_network.summary import summarise_network
from hekat.summary.vertical_network.summary_shape import NetworkSummary


def run_network_job(
    inputs: NetworkInputs,
    root: Path,
    progress: Progress | None = None,
    *,
    resume_from: Path | None = None,
    start_from: Path | None = None,
) -> RunResult:
    """Run a loaded job on this machine; everything it writes lies in a new folder under `root`.

    `resume_from` is the folder of an earlier run of the same job, `start_from` of an earlier, finished one, of this job
    or another: training goes on with its network (load_network_start), for as many epochs as the job says. Raises as
    `run_here`, and JobError where the guest keeps its flips of labels among runs.
    """

    def make_role(given: RoleOfRun[NetworkStart]) -> NetworkRole:
        name, start = given.name, given.start
        return NetworkRole(
            NetworkContext(
                job=inputs.job,
                role=name,
                session=given.session,
                table=inputs.tables[name],
                test_table=inputs.test_tables.get(name),
                resumed=given.resumed,
                start=None if start is None else OwnNetwork(start.run_id, start.parts[name]),
                observer=given.observer,
                own_labels=own_labels_of(inputs.site, inputs.job, name),
                bottom=inputs.bottoms[name],
                top=inputs.tops[name],
                count_predictions=lambda part, rows: PredictionCount.of(inputs.site, given.folder, part).add(rows),
            )
        )

    check_keeps_flips(inputs.site, inputs.job, root)
    return run_here(
        inputs,
        PROTOCOL,
        steps_of_network(inputs),
        root,
        progress,
        resume_from=resume_from,
        start_from=start_from,
        load_start=lambda folder: load_network_start(folder, inputs),
        make_role=make_role,
        summarise=partial(_summarise, inputs.job, "in turn"),
    )


def run_network_in_processes(
    inputs: NetworkInputs, files: JobFiles, root: Path, progress: Progress | None = None
) -> RunResult:
    """Run a loaded job, each role in a process of its own; everything that is written lies in a new folder.

    `files` are those that `inputs` were loaded from. Raises as `run_network_job`.
    """
    check_keeps_flips(inputs.site, inputs.job, root)
    steps, summarise = steps_of_network(inputs), partial(_summarise, inputs.job, "at once")
    return run_apart(inputs, PROTOCOL, steps, NetworkResult, files, root, progress, summarise)


def _summarise(job: NetworkJob, how: Played, played: PlayedHere, run_id: str, caveats: list[str]) -> NetworkSummary:
    """The summary, with the comparison where all rows lie in this process."""
    run, comparison = FinishedNetworkRun(job, played.results, played.seconds), None
    if job.compare_centralised and played.outcomes:
        comparison = compare_centralised(job, played.outcomes, [one["loss"] for one in run.epochs])
    return summarise_network(
        run,
        run_id,
        views=played.views,
        compared=None if comparison is None else comparison.compared,
        compared_results=() if comparison is None else comparison.results,
        more_caveats=caveats,
        played=how,
    )
