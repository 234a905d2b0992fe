"""One role of a horizontal run on its machine: its inputs, its play, and its outcome."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hekat.data import Table
from hekat.data.columns.found import Vocabulary
from hekat.job.horizontal.job_file import Job
from hekat.job.model_source import PartyModel
from hekat.ledger import RecordedChannel
from hekat.model import MODEL_NAMES
from hekat.privacy.accounting import Release
from hekat.protocol.horizontal.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal.party import PartyRun, run_party
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.sums_ahead import plan_sums
from hekat.protocol.horizontal.training.local_run import LocalRun
from hekat.protocol.horizontal.training.own_state import OwnState
from hekat.protocol.horizontal.training.standardise import ColumnFindings
from hekat.protocol.horizontal.training.training_state import RoundRecord, TrainingState
from hekat.protocol.horizontal.training.validation import hold_out
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.participation import Participation
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.run.resume_point import ResumePoint
from hekat.run.rows.role import RowsContext, RowsRole
from hekat.state.privacy_budget import PrivacyBudget, Spent
from hekat.summary.horizontal.role_result import MaskFacts, RoleResult, TrainedFacts
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.horizontal.traffic import sum_traffic_of


class RoleObserver:
    """Told of a role's progress, in the thread that plays it. This one keeps nothing."""

    def note_round(self, record: RoundRecord, state: TrainingState, metrics: dict[str, float]) -> None:
        """A round has ended; `metrics` are the model's on the common test set."""

    def note_charge(self, role: str, spent: Spent) -> None:
        """The party has charged a round of differential privacy, which has not left yet."""

    def note_fold(self, done: int, metrics: dict[str, float]) -> None:
        """So many folds are done, the last with these metrics; none where they begin, or go on."""

    def save(self, state: TrainingState) -> str:
        """Keep the state that all parties share; returns what is safe by now, in words, "" for nothing."""
        return ""

    def save_own(self, role: str, own: OwnState) -> None:
        """Keep what this party alone carries from round to round."""


@dataclass(frozen=True, kw_only=True)
class RoleContext(RowsContext):
    """What a role of a horizontal run receives besides.

    `make_model` is a party's own (None: Hekat's own model). `evaluate` gives the metrics of a state on the common test
    set, empty without one. `exactness_check` compares the updates of all parties, so it exists only where one process
    plays them all. `settle` gives the context once the parties found categories together; None where nothing is to be
    found, or it was before.
    """

    job: Job
    settings: HorizontalSettings
    evaluate: Callable[[TrainingState], dict[str, float]] = lambda state: {}
    make_model: Callable[[], PartyModel] | None = None
    resume_from: TrainingState | None = None
    own_state: OwnState | None = None
    observer: RoleObserver = field(default_factory=RoleObserver)
    exactness_check: ExactnessCheck | None = None
    model_caveats: tuple[str, ...] = ()
    budget: PrivacyBudget | None = None
    """Of this party's rows, in a job with differential privacy."""
    settle: Callable[[RoleContext, Vocabulary], RoleContext] | None = None


class HorizontalRole(RowsRole[TrainingState]):
    """One role of a horizontal run, played once over a channel."""

    def __init__(self, context: RoleContext) -> None:
        super().__init__(context)
        self._context = context
        self._records: list[RoundRecord] = []
        self._metrics: list[dict[str, float]] = []
        self._packing: Packing | None = None
        self._columns = ColumnFindings()

    @property
    def result(self) -> RoleResult:
        context, settings = self._context, self._context.settings
        return RoleResult(
            **self._common_facts(),
            records=tuple(self._records),
            metrics=tuple(self._metrics),
            trained=None if self._state is None else self._describe(self._state),
            sum_traffic=None
            if self._state is None or not self._is_in_round(self._state.rounds_done)
            else sum_traffic_of(self._session, settings.aggregator, self._state.rounds_done),
            packing=self._packing,
            constant_columns=self._names_of_constant,
            dominated_columns=self._column_names(self._columns.dominated),
            columns_apart=self._column_names(self._columns.apart),
            model_caveats=context.model_caveats,
        )

    @property
    def _counts_rounds(self) -> bool:
        return True

    def _describe(self, state: TrainingState) -> TrainedFacts:
        metrics = [found for found in self._metrics if found]
        return TrainedFacts(
            rounds_done=state.rounds_done,
            losses=tuple(state.losses),
            metrics=metrics[-1] if metrics else self._context.evaluate(state),
            validation=dict(state.validation.final or {}),
            folds=tuple(state.folds),
            parameter_count=int(sum(np.asarray(values).size for values in state.parameters.values())),
            mask=self._mask_facts(state),
            largest_weight=self._largest_weight(state),
        )

    def _mask_facts(self, state: TrainingState) -> MaskFacts | None:
        if state.mask is None:
            return None
        digest = state.mask.digest(self._context.job.digest)
        return MaskFacts(state.mask.chosen_count, state.mask.value_count, digest.hex())

    def _largest_weight(self, state: TrainingState) -> float | None:
        settings = self._context.settings
        if settings.classes is None or not settings.training.standardise or settings.model.name not in MODEL_NAMES:
            return None
        largest = max(float(np.abs(values).max(initial=0.0)) for values in state.parameters.values())
        return largest if math.isfinite(largest) else sys.float_info.max

    def _column_names(self, columns: Sequence[int]) -> tuple[str, ...]:
        table = self._context.table
        return () if table is None else tuple(table.feature_names[column] for column in columns)

    @property
    def _names_of_constant(self) -> tuple[str, ...]:
        """The constant columns without spare ones: nobody can leave out NAME=other alone, and it costs nothing."""
        names = self._column_names(self._columns.constant)
        return tuple(name for name in names if not self._context.job.columns.is_spare(name))

    def _is_in_round(self, number: int) -> bool:
        samples = Participation(self._context.settings.sums, self._context.job.digest)
        return self._context.role in samples.parties_in(f"round-{number}")

    def _plan_sums(self, done: int) -> SumPlan:
        return plan_sums(self._context.settings, done)

    def _serve(self, channel: RecordedChannel, point: ResumePoint) -> None:
        run = AggregatorRun(
            self._session.stopwatch,
            point.number,
            self._context.job.timeout_s,
            rounds_finished=point.finished,
            is_validated=point.validated,
            folds_done=point.folds,
            on_members=self._keep_members,
        )
        run_aggregator(channel, self._context.settings, run)

    def _train(self, channel: RecordedChannel, table: Table) -> TrainingState:
        return run_party(channel, table, self._context.settings, self._party_run(channel))

    def _describe_table(self, table: Table) -> TableFacts:
        settings = self._context.settings
        return TableFacts.of(table, settings.classes, hold_out(table, settings)[1])

    def _round_of(self, step: str) -> int | None:
        number = step.removeprefix("round-")
        return int(number) if number != step and number.isdecimal() else None

    @property
    def _resume_point(self) -> ResumePoint:
        state = self._context.resume_from
        if state is None:
            return self._context.resume_point or ResumePoint(0)
        return ResumePoint(state.rounds_done, state.finished, state.validation.final is not None, len(state.folds))

    def _local_run(self, channel: RecordedChannel) -> LocalRun:
        context = self._context
        # Before categories are found there is no model of the right size.
        made = None if context.make_model is None or context.settle is not None else context.make_model()
        return LocalRun(
            stopwatch=self._session.stopwatch,
            on_round=self._note_round,
            save=lambda state: channel.note_saved(context.observer.save(state)),
            resume_from=None if context.resume_from is None else context.resume_from.copy(),
            save_own=lambda own: context.observer.save_own(context.role, own),
            own=context.own_state,
            on_fold=context.observer.note_fold,
            on_compared=self._note_missing,
            on_columns=self._note_columns,
            charge=self._charge,
            model=None if made is None else made.model,
            model_code="" if made is None else made.code,
            vocabulary=context.job.vocabulary,
        )

    def _charge(self, number: int, release: Release) -> Spent:
        budget = self._context.budget
        assert budget is not None  # as `check_budgets` saw
        spent = budget.reserve(self._context.job.digest, number, release)
        self._context.observer.note_charge(self._context.role, spent)
        return spent

    def _settle(self, channel: RecordedChannel, vocabulary: Vocabulary) -> tuple[Table, LocalRun]:
        assert self._context.settle is not None  # as in `_party_run`
        self._context = self._shared = self._context.settle(self._context, vocabulary)
        assert self._context.table is not None  # a party has one
        return self._context.table, self._local_run(channel)

    def _party_run(self, channel: RecordedChannel) -> PartyRun:
        context = self._context
        return PartyRun(
            local=self._local_run(channel),
            key_pair=context.key_pair if context.role == context.settings.leader else None,
            exactness_check=context.exactness_check,
            on_packing=self._keep_packing,
            upload_state=context.upload_state,
            aggregator_timeout_s=self._aggregator_timeout_s,
            before=self._leave_where_asked,
            accept_members=context.accept_members,
            on_members=self._keep_members,
            names_are_keys=bool(context.job.party_keys),
            settle=None if context.settle is None else partial(self._settle, channel),
        )

    def _note_round(self, record: RoundRecord, state: TrainingState) -> None:
        metrics = self._context.evaluate(state)
        self._records.append(record)
        self._metrics.append(metrics)
        self._context.observer.note_round(record, state, metrics)

    def _note_columns(self, found: ColumnFindings) -> None:
        self._columns = found

    def _keep_packing(self, packing: Packing) -> None:
        self._packing = packing
