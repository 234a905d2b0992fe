"""One role of trees across rows on its machine: its inputs, its play, and its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hekat.data import Table
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.ledger import RecordedChannel
from hekat.privacy.accounting import Release
from hekat.protocol.horizontal_trees.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal_trees.measures import loss_of
from hekat.protocol.horizontal_trees.party import PartyRun, run_party
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.protocol.horizontal_trees.sums_ahead import iteration_of, plan_sums
from hekat.protocol.horizontal_trees.training import IterationRecord, LocalRun, split_rows
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.run.horizontal_trees.shown_trees import show_importance, show_trees
from hekat.run.resume_point import ResumePoint
from hekat.run.rows.role import RowsContext, RowsRole
from hekat.state.privacy_budget import PrivacyBudget, Spent
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.horizontal_trees.role_result import GrownFacts, RowTreesResult, TimedIteration


class RowTreesObserver:
    """Told of a role's progress, in the thread that plays it. This one keeps nothing."""

    def note_iteration(self, record: IterationRecord, state: TreesState) -> None:
        """An iteration has ended."""

    def save(self, state: TreesState) -> str:
        """Keep the state that all parties share; returns what is safe by now, in words, "" for nothing."""
        return ""


@dataclass(frozen=True, kw_only=True)
class RowTreesContext(RowsContext):
    """What a role of trees across rows receives besides.

    `evaluate` gives the metrics of a state on the common test set, empty without one.
    """

    job: RowTreesJob
    settings: HorizontalTreesSettings
    evaluate: Callable[[TreesState], dict[str, float]] = lambda state: {}
    resume_from: TreesState | None = None
    observer: RowTreesObserver = field(default_factory=RowTreesObserver)
    budget: PrivacyBudget | None = None
    """Of this party's rows, in a job with differential privacy."""


class RowTreesRole(RowsRole[TreesState]):
    """One role of trees across rows, played once over a channel."""

    def __init__(self, context: RowTreesContext) -> None:
        super().__init__(context)
        self._context = context
        self._iterations: list[TimedIteration] = []
        self._last = 0.0

    @property
    def result(self) -> RowTreesResult:
        return RowTreesResult(
            **self._common_facts(),
            iterations=tuple(self._iterations),
            grown=None if self._state is None else self._describe(self._state),
        )

    @property
    def _counts_rounds(self) -> bool:
        return False

    def _describe(self, state: TreesState) -> GrownFacts:
        context = self._context
        assert context.table is not None  # a party has one
        names = context.table.feature_names
        return GrownFacts(
            iterations_done=state.iterations_done,
            losses=tuple(state.losses),
            validation_losses=tuple(loss_of(metrics) for metrics in state.held_out),
            validation=dict(state.held_out[-1]) if state.held_out else {},
            metrics=context.evaluate(state),
            # Drawn splits say nothing of columns.
            importance=() if context.settings.privacy else show_importance(state, names),
            trees=show_trees(state, names, context.settings.classes),
        )

    @property
    def _resume_point(self) -> ResumePoint:
        state = self._context.resume_from
        if state is None:
            return self._context.resume_point or ResumePoint(0)
        return point_of(state)

    def _plan_sums(self, done: int) -> SumPlan:
        return plan_sums(self._context.settings, done)

    def _serve(self, channel: RecordedChannel, point: ResumePoint) -> None:
        run = AggregatorRun(
            self._session.stopwatch,
            point.number,
            self._context.job.timeout_s,
            finished=point.finished,
            measured=point.validated,
            on_members=self._keep_members,
        )
        run_aggregator(channel, self._context.settings, run)

    def _train(self, channel: RecordedChannel, table: Table) -> TreesState:
        context = self._context
        self._last = time.perf_counter()
        local = LocalRun(
            stopwatch=self._session.stopwatch,
            on_iteration=self._note_iteration,
            save=lambda state: channel.note_saved(context.observer.save(state)),
            resume_from=None if context.resume_from is None else context.resume_from.copy(),
            on_compared=self._note_missing,
            charge=self._charge,
        )
        run = PartyRun(
            local=local,
            key_pair=context.key_pair if context.role == context.settings.leader else None,
            upload_state=context.upload_state,
            aggregator_timeout_s=self._aggregator_timeout_s,
            before=self._leave_where_asked,
            accept_members=context.accept_members,
            on_members=self._keep_members,
            names_are_keys=bool(context.job.party_keys),
        )
        return run_party(channel, table, context.settings, run)

    def _charge(self, iteration: int, release: Release) -> Spent | None:
        context = self._context
        return None if context.budget is None else context.budget.reserve(context.job.digest, iteration, release)

    def _describe_table(self, table: Table) -> TableFacts:
        settings = self._context.settings
        return TableFacts.of(table, settings.classes, split_rows(table, settings)[1])

    def _round_of(self, step: str) -> int | None:
        return iteration_of(step)

    def _note_iteration(self, record: IterationRecord, state: TreesState) -> None:
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        self._iterations.append(TimedIteration(record.iteration, seconds, record.party_count, record.cost))
        self._context.observer.note_iteration(record, state)


def point_of(state: TreesState) -> ResumePoint:
    """Where a run goes on from this state."""
    return ResumePoint(state.iterations_done, state.finished, state.measured)
