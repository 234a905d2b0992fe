"""A job of trees across columns as a run: rows matched, the trees grown, and what the run leaves behind in a folder.

events.jsonl        what happened, line by line
ledger/             every role's signed ledger, of matching and training
checkpoints/        each party's own state of the last iterations, mode 600
parts/              each party's own part of the trained model, mode 600
predicted/          how many rows each party's part has predicted, where the site keeps no such count itself
parties.json        the public keys that ledgers are audited by
summary.json        `summary_shape.TreesSummary`
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hekat.engine.tenancy import declare_tenancy
from hekat.job.load_any_job import check_may_run
from hekat.job.vertical_trees.job_file import PROTOCOL
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles
from hekat.launch.run_result import RunResult
from hekat.launch.vertical.processes import play_in_processes
from hekat.launch.vertical.run_observer import RunObserver
from hekat.launch.vertical.session import (
    JOINED_ROWS_NEED_ONE_PROCESS,
    ON_ONE_MACHINE,
    load_unfinished,
    note_resumed,
    play_here,
)
from hekat.launch.vertical_trees.centralised import compare_centralised
from hekat.protocol.role_session import RoleSession
from hekat.run.progress import Progress, Silence
from hekat.run.run_events import logged_run
from hekat.run.vertical.earlier_run import refuse_two_beginnings
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.run.vertical_trees.iterations import ITERATIONS, steps_of_trees
from hekat.run.vertical_trees.load_inputs import TreesInputs
from hekat.run.vertical_trees.role import OwnTrees, TreesContext, TreesRole
from hekat.run.vertical_trees.warm_start import load_trees_start
from hekat.state import create_run_directory
from hekat.summary.summary_format import write_summary
from hekat.summary.vertical_trees.finished_run import FinishedTreesRun
from hekat.summary.vertical_trees.role_result import TreesResult
from hekat.summary.vertical_trees.summary import summarise_trees


def run_trees_job(
    inputs: TreesInputs,
    root: Path,
    progress: Progress | None = None,
    *,
    resume_from: Path | None = None,
    start_from: Path | None = None,
) -> RunResult:
    """Run a loaded job on this machine; everything it writes lies in a new folder under `root`.

    `resume_from` is the folder of an earlier run of the same job: rows are matched anew, must be the same, and training
    goes on from the last iteration that every party saved, in a new session and a new folder. `start_from` is the
    folder of an earlier, finished one, of this job or another: training goes on with its trees (load_trees_start),
    which count among the job's `max_iter`. Raises PartyStoppedError where a party failed, with what was saved;
    StateError where the disk takes no files. Before anything is written: StateError where there is nothing to resume or
    to start from, InputError where both are given or the trees are of another model than the job's; PolicyError for a
    job with party keys that not all roles here approved; EngineError where another run in this process says the
    opposite of the machine's tenancy.
    """
    job, settings = inputs.job, inputs.job.settings
    refuse_two_beginnings(resume_from, start_from)
    check_may_run(inputs.site, job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        start = None if start_from is None else load_trees_start(start_from, inputs)
        resumed = {} if resume_from is None else load_unfinished(ITERATIONS, resume_from, job)
        directory = create_run_directory(root)
        folder = directory.path
        with logged_run(directory, job.name, settings.everyone, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(folder)
            if resume_from is not None:
                note_resumed(events, resume_from, ITERATIONS, resumed[settings.guest])
            if start is not None:
                events.write("warm_start", run=str(start_from), run_id=start.run_id)
            observer = RunObserver(steps_of_trees(inputs), folder, events, shown, resumed)

            def make_roles(sessions: Mapping[str, RoleSession]) -> dict[str, TreesRole]:
                contexts = {
                    name: TreesContext(
                        job=job,
                        role=name,
                        session=session,
                        table=inputs.tables[name],
                        test_table=inputs.test_tables.get(name),
                        resumed=resumed.get(name),
                        start=None if start is None else OwnTrees(start.run_id, start.parts[name]),
                        observer=observer,
                        count_predictions=lambda part, rows: PredictionCount.of(inputs.site, folder, part).add(rows),
                        columns=inputs.columns[name],
                        key_pair=inputs.key_pair if name == job.settings.guest else None,
                        max_sum_memory_mib=inputs.site.policy.max_sum_memory_mib,
                    )
                    for name, session in sessions.items()
                }
                return {name: TreesRole(context) for name, context in contexts.items()}

            played = play_here(job, PROTOCOL, directory, inputs.party_keys, observer, shown, resumed, make_roles)
            run = FinishedTreesRun(job, played.results, played.seconds)
            iterations, comparison = run.iterations, None
            if job.compare_centralised:
                comparison = compare_centralised(job, played.outcomes, [one["loss"] for one in iterations])
            summary = summarise_trees(
                run,
                directory.run_id,
                views=played.views,
                compared=None if comparison is None else comparison.compared,
                compared_results=() if comparison is None else comparison.results,
                more_caveats=[ON_ONE_MACHINE],
            )
            write_summary(folder, summary)
            events.write("finished", iterations=len(iterations), seconds=run.seconds)
            return RunResult(folder, cast(dict[str, Any], summary))


def run_trees_in_processes(
    inputs: TreesInputs, files: JobFiles, root: Path, progress: Progress | None = None
) -> RunResult:
    """Run a loaded job, each role in a process of its own; everything that is written lies in a new folder.

    `files` are those that `inputs` were loaded from. Raises as `run_trees_job`.
    """
    job = inputs.job
    check_may_run(inputs.site, job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        with logged_run(directory, job.name, job.settings.everyone, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            steps = steps_of_trees(inputs)
            played = play_in_processes(
                job, steps, PROTOCOL, TreesResult, files, directory, inputs.party_keys, events, shown
            )
            run = FinishedTreesRun(job, played.results, played.seconds)
            caveats = [
                ON_ONE_MACHINE,
                ROLES_AT_ONCE,
                *([JOINED_ROWS_NEED_ONE_PROCESS] if job.compare_centralised else []),
            ]
            summary = summarise_trees(run, directory.run_id, views=played.views, played="at once", more_caveats=caveats)
            write_summary(directory.path, summary)
            events.write("finished", iterations=len(run.iterations), seconds=run.seconds)
            return RunResult(directory.path, cast(dict[str, Any], summary))
