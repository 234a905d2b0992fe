"""What boosted trees across rows found, as the plain tables of summary.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hekat.job.horizontal_trees.job_file import PROTOCOL
from hekat.protocol.horizontal_trees.sums_ahead import iteration_of
from hekat.summary.convergence import describe_convergence
from hekat.summary.horizontal.aggregator_view import AggregatorView
from hekat.summary.horizontal.finished_run import Dropout
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.horizontal_trees.caveats import list_row_trees_caveats
from hekat.summary.horizontal_trees.described_settings import describe_row_trees
from hekat.summary.horizontal_trees.finished_run import FinishedRowTreesRun
from hekat.summary.horizontal_trees.role_result import RowTreesResult
from hekat.summary.horizontal_trees.summary_shape import Bytes, PartyRows, Result, RowTreesSummary
from hekat.summary.run_facts import Played, facts_of_run
from hekat.summary.trees.drawn_facts import importance_tables, tree_tables

_OF_ITERATIONS = ("histograms", "leaves", "agreement")


def summarise_row_trees(
    run: FinishedRowTreesRun,
    run_id: str,
    *,
    test_table: TableFacts | None = None,
    view: AggregatorView | None = None,
    more_caveats: Sequence[str] = (),
    played: Played = "in turn",
) -> RowTreesSummary:
    """The whole of summary.json, of the results that are known here; what is not known here is empty or None.

    `view` is of the aggregator's ledger.
    """
    job, settings, grown = run.job, run.job.settings, run.grown
    stopped_early = 0 < grown.iterations_done < settings.training.max_iter
    own = Result(
        name="plain trees" if run.is_plain else "encrypted trees",
        kind="plain" if run.is_plain else "encrypted",
        metrics=grown.metrics,
        validation=grown.validation,
    )
    by_role = {name: dict(result.seconds_by_step) for name, result in run.results.items()}
    by_step = _add_up(by_role.values())
    return RowTreesSummary(
        **facts_of_run(run_id, job.name, job.digest, played),
        protocol=PROTOCOL,
        settings=describe_row_trees(settings, run.members),
        parties=[_describe_party(name, run.results[name]) for name in settings.parties if name in run.results],
        task="regression" if settings.classes is None else "classification",
        test_rows=None if test_table is None else test_table.rows,
        test_rows_trained_on=0 if test_table is None else test_table.trained_on,
        results=[own],
        iterations=run.iterations,
        stopped_early=stopped_early,
        convergence=describe_convergence(grown.losses, stopped_early=stopped_early),
        importance=importance_tables(grown.importance),
        trees=tree_tables(grown.trees),
        seconds={"encrypted": None, "plain": None, "key": by_step.get("keys", 0.0)}
        | {"plain" if run.is_plain else "encrypted": run.seconds},
        seconds_by_step=by_step,
        seconds_by_role=by_role,
        bytes=_count_bytes(run),
        lost=[_describe_dropout(dropout) for dropout in run.dropouts],
        included=[] if view is None else [asdict(entry) for entry in view.included],
        aggregator_saw=[] if view is None else list(view.saw),
        aggregator_saw_steps=[] if view is None else list(view.steps),
        notes=[*list_row_trees_caveats(run, test_table), *more_caveats],
    )


def _describe_party(name: str, result: RowTreesResult) -> PartyRows:
    table = result.table
    assert table is not None  # a party has one
    return PartyRows(name=name, rows=table.rows, held_out=table.held_out, class_rows=table.class_rows)


def _describe_dropout(dropout: Dropout) -> dict[str, Any]:
    """`round` is the iteration, null for a dropout outside of all."""
    return {
        "party": dropout.party,
        "step": dropout.step,
        "round": iteration_of(dropout.step),
        "reason": dropout.reason,
    }


def _add_up(parts: Any) -> dict[str, float]:
    total: dict[str, float] = {}
    for seconds in parts:
        for step, value in seconds.items():
            total[step] = total.get(step, 0.0) + value
    return total


def _count_bytes(run: FinishedRowTreesRun) -> Bytes:
    by_role: dict[str, dict[str, Any]] = {}
    sent = 0
    for name, result in run.results.items():
        steps = {kind: asdict(found) for kind, found in result.traffic.by_step.items()}
        by_role[name] = {
            "sent": result.traffic.sent_bytes,
            "received": result.traffic.received_bytes,
            "by_step": steps,
        }
        if name in run.job.settings.parties:
            sent += sum(steps[kind]["up"] + steps[kind]["shares_out"] for kind in _OF_ITERATIONS if kind in steps)
    made = 0 if run.finisher is None else len(run.finisher.iterations)
    return Bytes(by_role=by_role, per_iteration=sent // made if made else None)
