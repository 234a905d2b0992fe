"""A job of trees across columns as a run: rows matched, the trees grown, and what the run leaves behind in a folder.

The folder is as `hekat.launch.vertical.run_job` says; summary.json has the shape `summary_shape.TreesSummary`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hekat.job.vertical_trees.job_file import PROTOCOL, TreesJob
from hekat.launch.local.processes import JobFiles
from hekat.launch.run_result import RunResult
from hekat.launch.vertical.run_job import RoleOfRun, run_apart, run_here
from hekat.launch.vertical.session import PlayedHere
from hekat.launch.vertical_trees.centralised import compare_centralised
from hekat.run.progress import Progress
from hekat.run.vertical.own_labels import check_keeps_flips, own_labels_of
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.run.vertical_trees.iterations import steps_of_trees
from hekat.run.vertical_trees.load_inputs import TreesInputs
from hekat.run.vertical_trees.role import OwnTrees, TreesContext, TreesRole
from hekat.run.vertical_trees.warm_start import TreesStart, load_trees_start
from hekat.summary.run_facts import Played
from hekat.summary.vertical_trees.finished_run import FinishedTreesRun
from hekat.summary.vertical_trees.role_result import TreesResult
from hekat.summary.vertical_trees.summary import summarise_trees
from hekat.summary.vertical_trees.summary_shape import TreesSummary


def run_trees_job(
    inputs: TreesInputs,
    root: Path,
    progress: Progress | None = None,
    *,
    resume_from: Path | None = None,
    start_from: Path | None = None,
) -> RunResult:
    """Run a loaded job on this machine; everything it writes lies in a new folder under `root`.

    `resume_from` is the folder of an earlier run of the same job, `start_from` of an earlier, finished one, of this job
    or another: training goes on with its trees (load_trees_start), which count among the job's `max_iter`. Raises as
    `run_here`, and JobError where the guest keeps its flips of labels among runs.
    """

    def make_role(given: RoleOfRun[TreesStart]) -> TreesRole:
        name, start = given.name, given.start
        return TreesRole(
            TreesContext(
                job=inputs.job,
                role=name,
                session=given.session,
                table=inputs.tables[name],
                test_table=inputs.test_tables.get(name),
                resumed=given.resumed,
                start=None if start is None else OwnTrees(start.run_id, start.parts[name]),
                observer=given.observer,
                own_labels=own_labels_of(inputs.site, inputs.job, name),
                count_predictions=lambda part, rows: PredictionCount.of(inputs.site, given.folder, part).add(rows),
                columns=inputs.columns[name],
                key_pair=inputs.key_pair if name == inputs.job.settings.guest else None,
                max_sum_memory_mib=inputs.site.policy.max_sum_memory_mib,
            )
        )

    check_keeps_flips(inputs.site, inputs.job, root)
    return run_here(
        inputs,
        PROTOCOL,
        steps_of_trees(inputs),
        root,
        progress,
        resume_from=resume_from,
        start_from=start_from,
        load_start=lambda folder: load_trees_start(folder, inputs),
        make_role=make_role,
        summarise=partial(_summarise, inputs.job, "in turn"),
    )


def run_trees_in_processes(
    inputs: TreesInputs, files: JobFiles, root: Path, progress: Progress | None = None
) -> RunResult:
    """Run a loaded job, each role in a process of its own; everything that is written lies in a new folder.

    `files` are those that `inputs` were loaded from. Raises as `run_trees_job`.
    """
    check_keeps_flips(inputs.site, inputs.job, root)
    steps, summarise = steps_of_trees(inputs), partial(_summarise, inputs.job, "at once")
    return run_apart(inputs, PROTOCOL, steps, TreesResult, files, root, progress, summarise)


def _summarise(job: TreesJob, how: Played, played: PlayedHere, run_id: str, caveats: list[str]) -> TreesSummary:
    """The summary, with the comparison where all rows lie in this process."""
    run, comparison = FinishedTreesRun(job, played.results, played.seconds), None
    if job.compare_centralised and played.outcomes:
        comparison = compare_centralised(job, played.outcomes, [one["loss"] for one in run.iterations])
    return summarise_trees(
        run,
        run_id,
        views=played.views,
        compared=None if comparison is None else comparison.compared,
        compared_results=() if comparison is None else comparison.results,
        more_caveats=caveats,
        played=how,
    )
