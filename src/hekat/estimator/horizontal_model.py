"""What horizontal estimators share: all roles trained on this machine, and answers of the common model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hekat.data import Table, check_finite
from hekat.estimator.horizontal_parameters import HorizontalParameters
from hekat.estimator.horizontal_rows import features_of_fit, keep_names, open_states, read_tables
from hekat.estimator.parameter_words import in_parameters
from hekat.estimator.party_tables import as_table
from hekat.estimator.played_roles import PlayedRoles, Role, play_roles
from hekat.ledger import AuditReport, RecordedChannel
from hekat.progress_line import ProgressLine
from hekat.protocol.horizontal.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal.party import PartyRun, run_party
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.line_search import has_settled
from hekat.protocol.horizontal.training.local_run import LocalRun, build_model
from hekat.protocol.horizontal.training.training_state import RoundRecord, TrainingState
from hekat.protocol.horizontal.training.validation import check_rows_to_split
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.loss_verdict import judge_losses
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.stopwatch import Stopwatch

FloatArray = npt.NDArray[np.float64]
PROTOCOL = "horizontal"


class HorizontalModel(HorizontalParameters):
    """Training and answers of all horizontal estimators; HorizontalParameters lists its parameters."""

    @in_parameters
    def fit(self, X: Any, y: Any = None) -> Self:
        """Train: this process plays every role, through sealed channels, as on machines of their own.

        Args:
            X: `{party: array, sparse matrix, data frame or hekat.data.Table}`, the same columns at every party; or
                `{party: (rows, labels)}`.
            y: `{party: labels}`, one for each row; None: those beside the rows in X, or in its Tables.

        Returns:
            The fitted estimator itself.

        Raises:
            InputError: rows or labels that cannot be used, or parameters.
            PolicyError: two parties where `allow_two_parties` is not set.
            PartyStoppedError: a role failed for another reason.
        """
        tables, classes, settings = self._prepare(X, y)
        played = self._train(tables, settings)
        keep_names(self, X, tables)
        state = played.results[settings.leader]
        assert state is not None
        self._keep(state, settings, tables[settings.leader])
        if classes is not None:
            self.classes_: npt.NDArray[Any] = classes
        self.ledgers_: dict[str, AuditReport] = played.audits
        self.seconds_: float = played.seconds
        if not self.converged_:
            warnings.warn(
                f"training has not settled after {self.n_iter_} rounds: its loss was still moving; raise rounds",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _prepare(
        self, X: Any, y: Any, validation: ValidationSettings | None = None
    ) -> tuple[dict[str, Table], npt.NDArray[Any] | None, HorizontalSettings]:
        """(every party's table, the classes or None for numbers, the settings that the parameters stand for)."""
        tables, classes = self._encode(read_tables(X, y))
        settings = self._settings(tables, None if classes is None else tuple(map(str, classes)))
        if validation is not None:
            settings = replace(settings, validation=validation)
            for table in tables.values():
                check_rows_to_split(table, settings)
        return tables, classes, settings

    def _train(self, tables: Mapping[str, Table], settings: HorizontalSettings) -> PlayedRoles[TrainingState | None]:
        """All roles, played to the end."""
        trainings, most = 1 + settings.validation.folds, settings.training.round_count
        line = ProgressLine("training on all rows", trainings * most, shown=self.progress)

        def note_round(record: RoundRecord, state: TrainingState) -> None:
            line.reach(record.round, f"round {record.round} of at most {most} done")

        def note_fold(done: int, metrics: dict[str, float]) -> None:
            line.reach((1 + done) * most, f"{done} of {settings.validation.folds} folds done")

        telling = LocalRun(Stopwatch(), note_round, lambda state: None, on_fold=note_fold)
        silent = LocalRun(Stopwatch(), lambda record, state: None, lambda state: None)
        with line, ExitStack() as stack:
            states = open_states(settings.sums, stack)
            roles: dict[str, Role[TrainingState | None]] = {}
            for name in settings.parties:
                local = telling if name == settings.leader else silent
                roles[name] = _party_role(tables[name], settings, states.get(name), local)
            roles[settings.aggregator] = _aggregator_role(settings)
            return play_roles(roles, PROTOCOL, settings, self.timeout_s)

    @in_parameters
    def _cross_validate(self, X: Any, y: Any, folds: int) -> list[dict[str, float]]:
        """The metrics of each fold; the estimator itself stays as it is."""
        tables, _, settings = self._prepare(X, y, ValidationSettings(folds=folds))
        state = self._train(tables, settings).results[settings.leader]
        assert state is not None
        return state.folds

    def _encode(self, tables: dict[str, Table]) -> tuple[dict[str, Table], npt.NDArray[Any] | None]:
        """(tables whose labels are as models take them, the classes of all parties or None for numbers)."""
        raise NotImplementedError

    def _keep(self, state: TrainingState, settings: HorizontalSettings, first: Table) -> None:
        self.losses_: list[float] = list(state.losses)
        self.n_iter_: int = state.rounds_done
        self.n_features_in_: int = first.features.shape[1]
        self.parameters_: dict[str, FloatArray] = dict(
            state.standardiser.in_label_units(build_model(settings, self.n_features_in_), state.parameters)
        )
        self.mean_: FloatArray = state.standardiser.mean
        self.scale_: FloatArray = state.standardiser.spread
        searches = settings.training.searches_line
        settled = has_settled(state.optimiser_state) if searches else judge_losses(state.losses).course == "settled"
        self.converged_: bool = settled or state.finished
        self._state, self._fitted_settings = state, settings
        weight = state.parameters.get("weight")
        if weight is not None:
            # In units of the columns as they were given.
            coefficients = (weight / self.scale_[:, np.newaxis]).T
            self.coef_: FloatArray = coefficients if settings.classes is not None else coefficients[0]
            self.intercept_: Any = state.parameters["bias"] - coefficients @ self.mean_
            if settings.classes is None:
                self.intercept_ = float(self.intercept_[0])

    def _rows(self, X: Any) -> Any:
        """Rows as the model takes them; columns that have names are found by these. Raises InputError."""
        table = as_table(X, "X")
        check_finite(table)
        return self._state.standardiser.apply(features_of_fit(self, X, table))

    def _model(self) -> Any:
        check_is_fitted(self, "parameters_")
        return build_model(self._fitted_settings, self.n_features_in_)

    @in_parameters
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class or number of each row, on this machine: the model is common to all parties.

        Args:
            X: Rows with the columns of `fit`, an array, sparse matrix or data frame.

        Returns:
            One answer for each row, shape (rows,).

        Raises:
            InputError: other columns than in `fit`, or a cell without a finite number.
        """
        answers: npt.NDArray[Any] = self._model().predict(self.parameters_, self._rows(X))
        return self.classes_[answers] if self._fitted_settings.classes is not None else answers


def _party_role(
    table: Table,
    settings: HorizontalSettings,
    state: UploadState | None,
    local: LocalRun,
) -> Role[TrainingState | None]:
    def play(channel: RecordedChannel, stopwatch: Stopwatch) -> TrainingState | None:
        run = PartyRun(replace(local, stopwatch=stopwatch), upload_state=state)
        return run_party(channel, table, settings, run)

    return play


def _aggregator_role(settings: HorizontalSettings) -> Role[TrainingState | None]:
    def play(channel: RecordedChannel, stopwatch: Stopwatch) -> None:
        run_aggregator(channel, settings, AggregatorRun(stopwatch))

    return play
