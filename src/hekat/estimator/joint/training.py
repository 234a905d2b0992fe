"""Training and joint prediction of estimators whose model is trained in steps on columns of several parties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hekat.data import Table
from hekat.errors import InputError
from hekat.estimator.columns_estimator import (
    ColumnsEstimator,
    FloatArray,
    check_column_count,
    check_same_parties,
    in_guest_order,
    seconds_by_part,
)
from hekat.estimator.data_frames import IdName
from hekat.estimator.id_like import refuse_id_like
from hekat.estimator.party_roles import PartyScores
from hekat.estimator.party_tables import Columns, as_table, labels_for, read_parties
from hekat.estimator.played_roles import Role, play_roles
from hekat.ledger import AuditReport, RecordedChannel
from hekat.progress_line import ProgressLine
from hekat.protocol.psi.settings import KINDS, IntersectionSettings
from hekat.protocol.setting_checks import check_choice
from hekat.protocol.stopwatch import Stopwatch


class StepRecord(Protocol):
    """One step of a training as a party saw it; the losses are None at hosts."""

    @property
    def loss(self) -> float | None: ...

    @property
    def validation_loss(self) -> float | None: ...


@dataclass(frozen=True)
class PartyTask:
    """What one party's role of a training or a prediction is made of.

    `earlier` is the party's part of the model that training goes on with, or that predicts. `count` is told how many
    rows are predicted with it, and may refuse them; `note` hears of each step.
    """

    settings: Any
    table: Table
    intersection: IntersectionSettings | None
    earlier: Any
    count: Callable[[int], None]
    note: Callable[[Any], None] = lambda record: None


class JointTraining(ColumnsEstimator, ABC):
    """Training and prediction of both estimators of a protocol; its parameters are of the subclass."""

    columns: Columns | None
    guest: str | None
    id: IdName
    receivers: Sequence[str] | None
    timeout_s: float
    progress: bool | None
    warm_start: bool

    _protocol: ClassVar[str]
    _time_parts: ClassVar[Mapping[str, str]]
    """To which part of the work each measured step belongs."""
    _step: ClassVar[str]
    """What a step is called."""
    _doing: ClassVar[str]
    """What `fit` does, for its line of progress."""

    @abstractmethod
    def _settings(self, parties: tuple[str, ...], classes: tuple[str, ...] | None) -> Any:
        """What all parties agree on, the guest first. Raises JobError."""

    @abstractmethod
    def _prediction_settings(self, parties: tuple[str, ...]) -> Any:
        """The same for predictions."""

    @abstractmethod
    def _most_steps(self, settings: Any) -> int:
        """How many steps a training has at most."""

    @abstractmethod
    def _step_of(self, record: Any) -> int:
        """The number of a step."""

    @abstractmethod
    def _steps_done(self, part: Any) -> int:
        """How many steps a part has behind it."""

    @abstractmethod
    def _training_role(self, task: PartyTask) -> Role[Any]:
        """One party's side of a training; returns its part of the model."""

    @abstractmethod
    def _prediction_role(self, task: PartyTask) -> Role[PartyScores]:
        """One party's side of a prediction."""

    @abstractmethod
    def _read_labels(
        self, labels: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], tuple[str, ...] | None, npt.NDArray[Any] | None]:
        """Labels as a table holds them, the names of the classes, and the classes as they were given.

        A regression has no classes: None, None. Raises InputError.
        """

    def _prepared(self, table: Table) -> Table:
        """The table as the protocol takes it. Raises InputError."""
        return table

    def _check_choices(self, parties: tuple[str, ...]) -> None:
        """Raise JobError for parameters that nothing else looks at before a model is there."""
        if self.intersection is not None:
            check_choice("intersection", self.intersection, KINDS)
        # A prediction needs these once a model is there, which is late to hear of a mistake.
        self._prediction_settings(parties)

    def _receivers(self, parties: tuple[str, ...]) -> Any:
        return (parties[0],) if self.receivers is None else self.receivers

    def _fit(self, X: Any, y: Any) -> Self:
        """Train all parties of X in this process."""
        tables = {name: self._prepared(one) for name, one in read_parties(X, self.columns, self.guest, self.id).items()}
        refuse_id_like(tables)
        guest = next(iter(tables))
        labels, names, classes = self._read_labels(labels_for(X, y, guest, len(tables[guest])))
        tables[guest] = replace(tables[guest], labels=labels)
        settings = self._settings(tuple(tables), names)
        intersection = self._intersection(tables)
        earlier, predicted = self._earlier()
        records: list[StepRecord] = []
        most = self._most_steps(settings)
        line = ProgressLine(f"{self._doing} on all columns", most, shown=self.progress)

        def note(record: StepRecord) -> None:
            records.append(record)
            number = self._step_of(record)
            line.reach(number, f"{self._step} {number} of {most} done")

        roles = {}
        for name, table in tables.items():
            count = partial(self._count_predictions, predicted, name)
            task = PartyTask(settings, table, intersection, earlier.get(name), count)
            roles[name] = self._training_role(replace(task, note=note) if name == guest else task)
        with line:
            played = play_roles(roles, self._protocol, settings, self.timeout_s)
        self._keep(played.results, records, predicted)
        if classes is not None:
            self.classes_ = classes
        self.n_features_in_: int = sum(len(part.columns) for part in self.parts_.values())
        if not isinstance(X, Mapping):
            self.n_features_in_ = int(np.shape(X)[1])
        self.ledgers_: dict[str, AuditReport] = played.audits
        self.seconds_: float = played.seconds
        self.seconds_by_part_: dict[str, dict[str, float]] = {
            name: seconds_by_part(steps, self._time_parts, played.seconds)
            for name, steps in played.seconds_by_step.items()
        }
        return self

    def _fit_party(self, table: Any, channel: RecordedChannel, classes: Sequence[str] | None) -> Self:
        """Train as `channel.party` alone."""
        party = channel.party
        if self.guest is None:
            raise InputError("no guest is named", expected="the parameter guest", got="None", cure="set guest")
        hosts = [name for name in channel.parties if name != self.guest]
        settings = self._settings((self.guest, *hosts), None if classes is None else tuple(classes))
        own = self._prepared(_own_table(table, party, self.id))
        refuse_id_like({party: own})
        records: list[StepRecord] = []
        earlier, predicted = self._earlier()
        intersection = self._intersection_of(settings.parties, [own])
        count = partial(self._count_predictions, predicted, party)
        role = self._training_role(PartyTask(settings, own, intersection, earlier.get(party), count, records.append))
        part = role(channel, Stopwatch())
        self._keep({party: part}, records, predicted)
        if classes is not None:
            self.classes_ = np.asarray(classes)
        self.n_features_in_ = len(part.columns)
        return self

    def _predict_party(self, table: Any, channel: RecordedChannel) -> PartyScores:
        """Predict as `channel.party` alone."""
        check_is_fitted(self, "parts_")
        part = self.parts_[channel.party]
        settings = self._prediction_settings(part.parties)
        own = self._prepared(_own_table(table, channel.party, self.id))
        count = partial(self._count_predictions, self.predicted_rows_, channel.party)
        intersection = self._intersection_of(settings.parties, [own])
        return self._prediction_role(PartyTask(settings, own, intersection, part, count))(channel, Stopwatch())

    def _earlier(self) -> tuple[Mapping[str, Any], dict[str, int]]:
        """(the parts that training goes on with, the rows that they have predicted by party); both empty where it
        begins anew."""
        if not self.warm_start or not hasattr(self, "parts_"):
            return {}, {}
        return self.parts_, dict(self.predicted_rows_)

    def _keep(self, parts: Mapping[str, Any], records: Sequence[StepRecord], predicted: dict[str, int]) -> None:
        """Keep what a training left here; `records` of a host have no losses."""
        self.parts_: dict[str, Any] = dict(parts)
        self.losses_: list[float] = [one.loss for one in records if one.loss is not None]
        self.validation_losses_: list[float] = [
            one.validation_loss for one in records if one.validation_loss is not None
        ]
        self.n_iter_: int = self._steps_done(next(iter(parts.values())))
        self.predicted_rows_: dict[str, int] = predicted

    def _scores(self, X: Any) -> FloatArray:
        """Predict jointly on this machine: the raw scores (rows, K) of the guest's rows, in their order."""
        check_is_fitted(self, "parts_")
        first = next(iter(self.parts_.values()))
        if not isinstance(X, Mapping):
            check_column_count(X, self.n_features_in_)
        given = read_parties(X, self.columns, first.guest, self.id)
        tables = {name: self._prepared(one) for name, one in given.items()}
        check_same_parties(tables, first.parties, self.parts_)
        settings = self._prediction_settings(first.parties)
        intersection = self._intersection(tables)
        roles = {}
        for name in settings.parties:
            count = partial(self._count_predictions, self.predicted_rows_, name)
            task = PartyTask(settings, tables[name], intersection, self.parts_[name], count)
            roles[name] = self._prediction_role(task)
        with ProgressLine("predicting from all columns", shown=self.progress):
            played = play_roles(roles, self._protocol, settings, self.timeout_s)
        self.prediction_ledgers_: dict[str, AuditReport] = played.audits
        received = played.results[settings.receivers[0]].scores
        assert received is not None
        # Scores stand in the common order, which the guest knows the places of.
        return in_guest_order(received, played.results[first.guest].rows, len(tables[first.guest]))


def _own_table(values: Any, name: str, id_name: IdName) -> Table:
    """A party's own table, with its labels where there are any."""
    return values if isinstance(values, Table) else as_table(values, name, id_name)
