"""Training and prediction of both vertical regressions, by all parties in this process or by one party at its site."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hekat.data import Table
from hekat.errors import InputError
from hekat.estimator.columns_estimator import (
    check_column_count,
    check_same_parties,
    in_guest_order,
    seconds_by_part,
)
from hekat.estimator.data_frames import IdName
from hekat.estimator.id_like import refuse_id_like
from hekat.estimator.parameter_words import in_parameters
from hekat.estimator.parameters import VerticalParameters
from hekat.estimator.party_roles import PartyScores, PredictionRole, TrainingRole
from hekat.estimator.party_tables import as_table, labels_for, read_parties
from hekat.estimator.played_roles import play_roles
from hekat.ledger import AuditReport, RecordedChannel
from hekat.progress_line import ProgressLine
from hekat.protocol.loss_verdict import judge_losses
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.batches import batch_count
from hekat.protocol.vertical.common_tables import find_common_tables
from hekat.protocol.vertical_linear.judging.rule_check import check_rules
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import EpochRecord
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.timing_labels import PARTS
from hekat.protocol.vertical_linear.warm_start import check_warm_start

FloatArray = npt.NDArray[np.float64]
PROTOCOL = "vertical_linear"
SMALL_BATCH_ROWS, MANY_STEPS = 32, 500
# A step of a few columns on two cores, with keys of 3072 bits.
SECONDS_PER_STEP = 0.04


class VerticalRegression(VerticalParameters, ABC):
    """Training and prediction of both regressions; VerticalParameters lists its parameters."""

    # --- all roles on this machine -----------------------------------------------------------------------------

    @in_parameters
    def fit(self, X: Any, y: Any = None) -> Self:
        """Train: this process plays every role, through sealed channels, as on machines of their own.

        Tables with ids, and data frames where the parameter `id` is set, meet in a set intersection first; rows without
        ids are taken as aligned.

        Args:
            X: `{party: array, data frame or hekat.data.Table}`, or one array that the parameter `columns` cuts.
            y: The guest's labels, one for each of its rows; None: those in its Table. A pandas series is put into the
                order of the guest's data frame by its index.

        Returns:
            The fitted estimator itself.

        Raises:
            InputError: tables, labels or ids that cannot be used; data frames with different indexes where `id` is not
                set; a column that is an id.
            JobError: parameters that cannot be used.
            PolicyError: gradients would tell what others hold (form `"arbiter"`).
            PartyStoppedError: a role failed for another reason.
        """
        tables = read_parties(X, self.columns, self.guest, self.id)
        refuse_id_like(tables)
        guest = next(iter(tables))
        labels, names, classes = self._read_labels(labels_for(X, y, guest, len(tables[guest])))
        tables[guest] = replace(tables[guest], labels=labels)
        settings = self._settings(tuple(tables), names)
        intersection = self._intersection(tables)
        check_rules(tables if intersection is None else find_common_tables(tables), settings)
        row_count = min(len(table) for table in tables.values())
        self._check_calibration(settings, row_count)
        _warn_of_small_batches(row_count, settings)
        predicted: dict[str, int] = {}
        losses: list[float | None] = []
        epochs = settings.training.epochs
        line = ProgressLine("training on all columns", epochs, shown=self.progress)

        def note_epoch(record: EpochRecord) -> None:
            losses.append(record.loss)
            line.reach(len(losses), f"epoch {len(losses)} of {epochs} done")

        def role_of(name: str) -> TrainingRole:
            return TrainingRole(
                settings,
                tables.get(name),
                intersection,
                self._key_of(name),
                self._start_of(name, tables, settings),
                note_epoch if name == guest else _ignore,
                self.score_bits,
                partial(self._count_predictions, predicted, name),
                self._own_labels(name, guest),
            )

        roles = {name: role_of(name) for name in settings.everyone}
        with line:
            played = play_roles(roles, PROTOCOL, settings, self.timeout_s)
        self._keep({name: part for name, part in played.results.items() if part is not None}, losses, settings)
        self.predicted_rows_: dict[str, int] = predicted
        if classes is not None:
            self.classes_ = classes
        self.n_features_in_: int = sum(len(part.columns) for part in self.parts_.values())
        if not isinstance(X, Mapping):
            self.n_features_in_ = int(np.shape(X)[1])
        self.ledgers_: dict[str, AuditReport] = played.audits
        self.seconds_: float = played.seconds
        self.seconds_by_part_: dict[str, dict[str, float]] = {
            name: seconds_by_part(steps, PARTS, played.seconds) for name, steps in played.seconds_by_step.items()
        }
        if not self.converged_:
            _warn_not_converged(self.n_iter_)
        return self

    def _scores(self, X: Any) -> FloatArray:
        """Predict jointly on this machine: the scores (rows, K) of the guest's rows, in their order."""
        check_is_fitted(self, "parts_")
        part = next(iter(self.parts_.values()))
        if not isinstance(X, Mapping):
            check_column_count(X, self.n_features_in_)
        tables = read_parties(X, self.columns, part.guest, self.id)
        check_same_parties(tables, part.parties, self.parts_)
        settings = self._prediction_settings(part)
        intersection = self._intersection(tables)
        roles = {
            name: PredictionRole(
                settings,
                self.parts_[name],
                tables[name],
                intersection,
                self._key_of(name),
                partial(self._count_predictions, self.predicted_rows_, name),
            )
            for name in settings.parties
        }
        with ProgressLine("predicting from all columns", shown=self.progress):
            played = play_roles(roles, PROTOCOL, settings, self.timeout_s)
        results = played.results
        self.prediction_ledgers_: dict[str, AuditReport] = played.audits
        received = results[settings.summing_party].scores
        assert received is not None
        return in_guest_order(received, results[part.guest].rows, len(tables[part.guest]))

    # --- one role, at a site -----------------------------------------------------------------------------------

    @in_parameters
    def fit_party(self, table: Any, channel: RecordedChannel, *, classes: Sequence[str] | None = None) -> Self:
        """Train as `channel.party` alone, while the others do so at their sites with the same parameters.

        Afterwards `parts_` has this party's part of the model; what the party learned is in the channel's own ledger.

        Args:
            table: This party's Table or array, at the guest a Table with labels; None at the arbiter.
            channel: The party's open session with the others. The parameter `guest` must be set.
            classes: The classes of a classification, alike at every party; None for a regression.

        Returns:
            The fitted estimator itself.

        Raises:
            InputError: no guest is named, or the table cannot be used.
            JobError: parameters that cannot be used; at the guest, label privacy without a file of flips.
            PolicyError: gradients would tell what others hold (form `"arbiter"`).
            ProtocolError: another party does not keep to the protocol or to the same parameters.
        """
        if self.guest is None:
            raise InputError("no guest is named", expected="the parameter guest", got="None", cure="set guest")
        self._check_keeps_flips(channel.party, self.guest)
        hosts = [name for name in channel.parties if name not in (self.guest, self.arbiter)]
        settings = self._settings((self.guest, *hosts), None if classes is None else tuple(classes))
        own = None if channel.party == self.arbiter else _own_table(table, channel.party, self.id)
        if own is not None:
            refuse_id_like({channel.party: own})
            self._check_calibration(settings, len(own))
        losses: list[float | None] = []
        predicted: dict[str, int] = {}
        role = TrainingRole(
            settings,
            own,
            self._intersection_of(settings.parties, [] if own is None else [own]),
            self._key_of(channel.party),
            None if own is None else self._start_of(channel.party, {channel.party: own}, settings),
            lambda record: losses.append(record.loss),
            self.score_bits,
            partial(self._count_predictions, predicted, channel.party),
            self._own_labels(channel.party, self.guest),
        )
        part = role(channel, Stopwatch())
        if classes is not None:
            self.classes_ = np.asarray(classes)
        told = losses if channel.party == self.guest else []
        self._keep({} if part is None else {channel.party: part}, told, settings)
        if told and not self.converged_:
            _warn_not_converged(self.n_iter_)
        self.predicted_rows_ = predicted
        return self

    @in_parameters
    def predict_party(self, table: Any, channel: RecordedChannel) -> PartyScores:
        """Predict as `channel.party` alone, with its own part of the model.

        Args:
            table: This party's Table or array, with the columns of `fit_party`.
            channel: The party's open session with the others.

        Returns:
            The rows of this party that were predicted and, at the receivers, their scores.

        Raises:
            InputError: the table does not have the columns of the part.
            PolicyError: more rows than `max_predictions` since `fit_party`.
            ProtocolError: another party comes with another model, other rows or other receivers.
        """
        check_is_fitted(self, "parts_")
        part = self.parts_[channel.party]
        settings = self._prediction_settings(part)
        own = _own_table(table, channel.party, self.id)
        intersection = self._intersection_of(settings.parties, [own])
        count = partial(self._count_predictions, self.predicted_rows_, channel.party)
        role = PredictionRole(settings, part, own, intersection, self._key_of(channel.party), count)
        return role(channel, Stopwatch())

    @abstractmethod
    def _read_labels(
        self, labels: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], tuple[str, ...] | None, npt.NDArray[Any] | None]:
        """Labels as a table holds them, the names of the classes, and the classes as they were given.

        A regression has no classes: None, None. Raises InputError.
        """

    def _start_of(
        self, name: str, tables: Mapping[str, Table], settings: VerticalLinearSettings
    ) -> Mapping[str, npt.NDArray[Any]] | None:
        """The weights of this party's part of the last fit, for a warm start. Raises InputError as check_warm_start
        does."""
        part: ModelPart | None = getattr(self, "parts_", {}).get(name) if self.warm_start else None
        if part is None or name not in tables:
            return None
        check_warm_start(part, settings, tables[name].feature_names, begin_anew="set warm_start=False")
        return part.arrays

    def _keep(
        self, parts: dict[str, ModelPart], losses: Sequence[float | None], settings: VerticalLinearSettings
    ) -> None:
        self.parts_: dict[str, ModelPart] = parts
        self.losses_: list[float] = [loss for loss in losses if loss is not None]
        self.n_iter_: int = len(losses)
        ended_early = 0 < len(losses) < settings.training.epochs
        self.converged_: bool = ended_early or judge_losses(self.losses_).course == "settled"


def _warn_not_converged(epochs: int) -> None:
    warnings.warn(
        f"training has not settled after {epochs:,} epochs: its loss was still moving; raise epochs",
        ConvergenceWarning,
        stacklevel=4,
    )


def _warn_of_small_batches(row_count: int, settings: VerticalLinearSettings) -> None:
    """Warn before a training whose batches are so small that their number alone makes it long."""
    batches = batch_count(row_count, settings.training.batch_rows)
    steps = batches * settings.training.epochs
    if row_count < SMALL_BATCH_ROWS * batches and steps >= MANY_STEPS and settings.protection != "none":
        warnings.warn(
            f"training takes {steps:,} steps in batches of up to {-(-row_count // batches):,} rows: some "
            f"{steps * SECONDS_PER_STEP:,.0f} s or more; a larger batch_rows takes fewer",
            stacklevel=4,
        )


def _own_table(values: Any, name: str, id_name: IdName) -> Table:
    """A party's own table, with its labels where there are any."""
    return values if isinstance(values, Table) else as_table(values, name, id_name)


def _ignore(record: EpochRecord) -> None:
    """Only the guest's epochs are kept."""
