"""One role of a training on an encrypted model on its machine: what it is given, its play, and its result."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from hekat.channel import Channel
from hekat.data import Table
from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.job.policy.exact_sums import record_waiver
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.held_share import HeldShare
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun, RoundRecord, ShareState
from hekat.protocol.encrypted_model.roles import run_role
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.role_session import RoleSession
from hekat.run.encrypted_model.kept_part import KeptPart, model_id_of
from hekat.run.encrypted_model.load_inputs import EncryptedModelInputs
from hekat.run.encrypted_model.owner_model import measure, standardised, why_not_measured
from hekat.scheme.paillier import KeyPair
from hekat.summary.encrypted_model import role_result
from hekat.summary.encrypted_model.role_result import EncryptedModelResult, OpenedModel, TimedRound
from hekat.summary.vertical.traffic import role_traffic_of


class EncryptedModelObserver:
    """What a role tells while it plays; this one keeps nothing."""

    def note_round(self, role: str, number: int) -> None:
        """The role has ended a round."""

    def save(self, role: str, state: ShareState) -> None:
        """Keep the role's state, to resume from."""

    def note_model(self, model: OwnedModel, metrics: dict[str, float]) -> None:
        """The owner was given a model; `metrics` are on its rows."""

    def keep_part(self, part: KeptPart) -> None:
        """Keep what the role needs for joint scores, once the training has ended."""


@dataclass(frozen=True)
class EncryptedModelContext:
    """Everything that one role receives; about other roles it holds only names and public keys.

    `key_pair` is a ready Paillier key, at an arbiter that needs one.
    """

    inputs: EncryptedModelInputs
    role: str
    session: RoleSession
    observer: EncryptedModelObserver = field(default_factory=EncryptedModelObserver)
    key_pair: KeyPair | None = field(default=None, repr=False)
    resumed: ShareState | None = field(default=None, repr=False)

    @property
    def job(self) -> EncryptedModelJob:
        return self.inputs.job


class EncryptedModelRole:
    """One role, played once over a channel; `result` holds what it left, however it ended."""

    def __init__(self, context: EncryptedModelContext) -> None:
        self._context = context
        self._rounds: list[TimedRound] = []
        self._opened: list[OpenedModel] = []
        self._owned: OwnedModel | None = None
        self._unmeasured = ""
        self._facts: ModelFacts | None = None
        self._state = context.resumed
        self._last = self._seconds = 0.0

    @property
    def job(self) -> EncryptedModelJob:
        return self._context.job

    def play(self, channel: Channel) -> OwnedModel | None:
        """The final model at the owner, None elsewhere. Raises what the role raises."""
        start = self._last = time.perf_counter()
        try:
            return self._context.session.play(channel, self._run, counts_rounds=False)
        finally:
            self._seconds = time.perf_counter() - start

    @property
    def result(self) -> EncryptedModelResult:
        """What the role has left so far; read it once `play` has ended."""
        context = self._context
        inputs, is_host = context.inputs, context.role in context.inputs.tables
        resumed = context.resumed
        return EncryptedModelResult(
            role=context.role,
            seconds=self._seconds,
            seconds_by_step=dict(context.session.stopwatch.seconds),
            traffic=role_traffic_of(context.session),
            table=inputs.describe(context.role) if is_host else None,
            columns=int(inputs.tables[context.role].features.shape[1]) if is_host else None,
            rounds=tuple(self._rounds),
            owned=None if self._owned is None else self._describe_owned(self._owned),
            resumed_after=None if resumed is None else resumed.rounds_done,
        )

    def _run(self, channel: RecordedChannel) -> OwnedModel | None:
        context = self._context
        record_waiver(channel.ledger, context.inputs.tables.get(context.role))
        run = EncryptedModelRun(
            context.session.stopwatch,
            on_round=self._note_round,
            on_model=self._note_model,
            save=self._save,
            resume_from=context.resumed,
            key_pair=context.key_pair,
            on_facts=self._note_facts,
        )
        table = context.inputs.training_table(context.role)
        settings = context.job.settings
        owned = run_role(channel, None if table is None else with_names(table, settings.classes), settings, run)
        self._keep_part(channel)
        return owned

    def _save(self, state: ShareState) -> None:
        self._state = state
        self._context.observer.save(self._context.role, state)

    def _note_facts(self, facts: ModelFacts) -> None:
        self._facts = facts

    def _keep_part(self, channel: RecordedChannel) -> None:
        """Keep what joint scores take; an owner that is no host has the model itself."""
        job, role = self.job, self._context.role
        held = None
        if role in (job.settings.arbiter, job.settings.aggregator):
            assert self._state is not None  # training ended, so at least one round is done
            held = HeldShare.of(self._state)
        elif self._facts is None:
            return
        model_id = model_id_of(channel.session_id)
        part = KeptPart(role, model_id, job.name, job.settings, job.columns.of_features(), self._facts, held)
        self._context.observer.keep_part(part)

    def _note_round(self, record: RoundRecord) -> None:
        now = time.perf_counter()
        self._rounds.append(TimedRound(record.round_number, now - self._last))
        self._last = now
        self._context.observer.note_round(self._context.role, record.round_number)

    def _note_model(self, model: OwnedModel) -> None:
        measured = self._context.inputs.measured
        self._owned = model
        self._unmeasured = "" if measured is None else why_not_measured(model, measured.table)
        is_measured = measured is not None and not self._unmeasured
        metrics = measure(self._context.job, model, measured.table) if measured is not None and is_measured else {}
        self._opened.append(OpenedModel(model.round_number, metrics))
        self._context.observer.note_model(model, metrics)

    def _describe_owned(self, model: OwnedModel) -> role_result.OwnedModel:
        context = self._context
        measured, training = context.inputs.measured, context.job.settings.training
        made = standardised(context.job, model)
        is_measured = measured is not None and not self._unmeasured
        return role_result.OwnedModel(
            rounds_done=model.round_number,
            columns=len(model.columns),
            parameter_count=made.parameter_count,
            rows=model.row_count,
            metrics=self._opened[-1].metrics,
            opened=tuple(self._opened),
            measured=context.inputs.describe_measured() if is_measured else None,
            measured_on=measured.kind if measured is not None and is_measured else None,
            unmeasured=self._unmeasured,
            largest_weight=made.largest_weight if training.standardise and model.classes is not None else None,
        )


def with_names(table: Table, classes: tuple[str, ...] | None) -> Table:
    """The table with its classes by their names, as the protocol takes labels."""
    if classes is None or table.labels is None:
        return table
    return replace(table, labels=np.array(classes)[table.labels])
