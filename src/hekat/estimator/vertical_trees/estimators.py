"""Gradient boosting on columns that lie at several parties: training and joint prediction, and its two estimators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from hekat.data import Table
from hekat.errors import InputError
from hekat.estimator.columns_estimator import (
    FloatArray,
    check_column_count,
    check_same_parties,
    in_guest_order,
    read_classes,
    seconds_by_part,
)
from hekat.estimator.data_frames import IdName
from hekat.estimator.id_like import refuse_id_like
from hekat.estimator.parameter_words import in_parameters
from hekat.estimator.party_roles import PartyScores
from hekat.estimator.party_tables import as_table, labels_for, read_parties
from hekat.estimator.played_roles import play_roles
from hekat.estimator.vertical_trees.parameters import TreesParameters
from hekat.ledger import AuditReport, RecordedChannel
from hekat.model.trees.answers import answers_of
from hekat.progress_line import ProgressLine
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.matching import Matching
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_roles import match_and_predict, match_and_train
from hekat.protocol.vertical_trees.party_run import TreeRecord, TreesRun
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.timing_labels import PARTS
from hekat.protocol.vertical_trees.tree_arrays import read_trees

PROTOCOL = "vertical_trees"
_DONE = "tree"


@dataclass(frozen=True)
class _TrainingRole:
    """One party's side of a training; returns its part of the model. `count` as a _PredictionRole has it, for the rows
    that an earlier part predicts first."""

    settings: VerticalTreesSettings
    table: Table
    intersection: IntersectionSettings | None
    start_from: TreesPart | None
    on_tree: Callable[[TreeRecord], None]
    count: Callable[[int], None]

    def __call__(self, channel: RecordedChannel, stopwatch: Stopwatch) -> TreesPart:
        run = TreesRun(stopwatch, on_tree=self.on_tree, start_from=self.start_from, count_predictions=self.count)
        matching = Matching(self.intersection, stopwatch)
        return match_and_train(channel, self.table, self.settings, matching, lambda matched: run).part


@dataclass(frozen=True)
class _PredictionRole:
    """One party's side of a prediction. `count` is told how many rows it has, and may refuse them."""

    settings: TreePredictionSettings
    part: TreesPart
    table: Table
    intersection: IntersectionSettings | None
    count: Callable[[int], None]

    def __call__(self, channel: RecordedChannel, stopwatch: Stopwatch) -> PartyScores:
        run = TreesRun(stopwatch, count_predictions=self.count)
        matching = Matching(self.intersection, stopwatch)
        found = match_and_predict(channel, self.part, self.table, self.settings, matching, lambda matched: run)
        return PartyScores(found.matched.positions, found.scores)


class VerticalGradientBoosting(TreesParameters, ABC):
    """Training and prediction of both estimators; TreesParameters lists their parameters."""

    @in_parameters
    def fit(self, X: Any, y: Any = None) -> Self:
        """Train: this process plays every role, through sealed channels, as on machines of their own.

        Tables with ids, and data frames where the parameter `id` is set, meet in a set intersection first; rows without
        ids are taken as aligned. Missing values (NaN) are taken as they are.

        Args:
            X: `{party: array, data frame or hekat.data.Table}`, or one array that the parameter `columns` cuts.
            y: The guest's labels, one for each of its rows; None: those in its Table. A pandas series is put into the
                order of the guest's data frame by its index.

        Returns:
            The fitted estimator itself.

        Raises:
            InputError: tables, labels or ids that cannot be used; too few rows; a column that is an id.
            JobError: parameters that cannot be used.
            PolicyError: sums would tell the guest the bins of hosts, and `bin_leak_accepted` does not say that it may.
            PartyStoppedError: a role failed for another reason.
        """
        tables = {
            name: self._for_trees(one) for name, one in read_parties(X, self.columns, self.guest, self.id).items()
        }
        refuse_id_like(tables)
        guest = next(iter(tables))
        labels, names, classes = self._read_labels(labels_for(X, y, guest, len(tables[guest])))
        tables[guest] = replace(tables[guest], labels=labels)
        settings = self._settings(tuple(tables), names)
        intersection = self._intersection(tables)
        earlier, predicted = self._earlier()
        losses: list[TreeRecord] = []
        most = settings.training.max_iter
        line = ProgressLine("growing trees on all columns", most, shown=self.progress)

        def note(record: TreeRecord) -> None:
            losses.append(record)
            line.reach(record.iteration, f"{_DONE} {record.iteration} of {most} done")

        roles = {
            name: _TrainingRole(
                settings,
                table,
                intersection,
                earlier.get(name),
                note if name == guest else lambda record: None,
                partial(self._count_predictions, predicted, name),
            )
            for name, table in tables.items()
        }
        with line:
            played = play_roles(roles, PROTOCOL, settings, self.timeout_s)
        self._keep(played.results, losses, predicted)
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
        return self

    @in_parameters
    def fit_party(self, table: Any, channel: RecordedChannel, *, classes: Sequence[str] | None = None) -> Self:
        """Train as `channel.party` alone, while the others do so at their sites with the same parameters.

        Afterwards `parts_` has this party's part of the model; what the party learned is in the channel's own ledger.

        Args:
            table: This party's Table or array, at the guest a Table with labels.
            channel: The party's open session with the others. The parameter `guest` must be set.
            classes: The classes of a classification, alike at every party; None for a regression.

        Returns:
            The fitted estimator itself.

        Raises:
            InputError: no guest is named, or the table cannot be used.
            JobError: parameters that cannot be used.
            PolicyError: sums would tell the guest the bins of hosts, and `bin_leak_accepted` does not say that it may.
            ProtocolError: another party does not keep to the protocol or to the same parameters.
        """
        party = channel.party
        if self.guest is None:
            raise InputError("no guest is named", expected="the parameter guest", got="None", cure="set guest")
        hosts = [name for name in channel.parties if name != self.guest]
        settings = self._settings((self.guest, *hosts), None if classes is None else tuple(classes))
        own = self._for_trees(_own_table(table, party, self.id))
        refuse_id_like({party: own})
        records: list[TreeRecord] = []
        earlier, predicted = self._earlier()
        role = _TrainingRole(
            settings,
            own,
            self._intersection_of(settings.parties, [own]),
            earlier.get(party),
            records.append,
            partial(self._count_predictions, predicted, party),
        )
        part = role(channel, Stopwatch())
        self._keep({party: part}, records, predicted)
        if classes is not None:
            self.classes_ = np.asarray(classes)
        self.n_features_in_ = len(part.columns)
        return self

    @in_parameters
    def predict_party(self, table: Any, channel: RecordedChannel) -> PartyScores:
        """Predict as `channel.party` alone, with its own part of the model.

        Args:
            table: This party's Table or array, with the columns of `fit_party`.
            channel: The party's open session with the others.

        Returns:
            The rows of this party that were predicted and, at the receivers, their scores: sums of leaves, (rows, K).

        Raises:
            InputError: the table does not have the columns of the part.
            PolicyError: more rows than `max_predictions` since `fit_party`.
            ProtocolError: another party comes with another model, other rows or other receivers.
        """
        check_is_fitted(self, "parts_")
        part = self.parts_[channel.party]
        settings = self._prediction_settings(part.parties)
        own = self._for_trees(_own_table(table, channel.party, self.id))
        count = partial(self._count_predictions, self.predicted_rows_, channel.party)
        role = _PredictionRole(settings, part, own, self._intersection_of(settings.parties, [own]), count)
        return role(channel, Stopwatch())

    def _earlier(self) -> tuple[Mapping[str, TreesPart], dict[str, int]]:
        """(the parts that training goes on with, the rows that they have predicted by party); both empty where it
        begins anew."""
        if not self.warm_start or not hasattr(self, "parts_"):
            return {}, {}
        return self.parts_, dict(self.predicted_rows_)

    def _keep(self, parts: Mapping[str, TreesPart], records: Sequence[TreeRecord], predicted: dict[str, int]) -> None:
        """Keep what a training left here; `records` of a host have no losses."""
        self.parts_: dict[str, TreesPart] = dict(parts)
        self.losses_: list[float] = [one.loss for one in records if one.loss is not None]
        self.validation_losses_: list[float] = [
            one.validation_loss for one in records if one.validation_loss is not None
        ]
        self.n_iter_: int = next(iter(parts.values())).iterations
        self.predicted_rows_: dict[str, int] = predicted

    @property
    def feature_importances_(self) -> dict[str, FloatArray]:
        """By party the share of all gain that its columns' splits have, float64 (columns of the party,).

        Raises:
            NotFittedError: before `fit`.
            InputError: at a host's own site: the guest alone knows all trees.
        """
        check_is_fitted(self, "parts_")
        part = next((part for part in self.parts_.values() if part.is_guest), None)
        if part is None:
            raise InputError(
                "a host does not know what all columns did for the trees",
                expected="the guest's part of the model",
                got=f"the part of {', '.join(self.parts_)}",
                cure="ask the guest",
            )
        counts = [len(part.columns), *(part.host_columns[host] for host in part.hosts)]
        gains = np.zeros(sum(counts))
        for iteration in read_trees(part.arrays):
            for owned in iteration:
                inner = owned.tree.column >= 0
                np.add.at(gains, owned.tree.column[inner], owned.tree.gain[inner])
        shares = gains / (gains.sum() or 1.0)
        return dict(zip(part.parties, np.split(shares, np.cumsum(counts)[:-1]), strict=True))

    def _scores(self, X: Any) -> FloatArray:
        """Predict jointly on this machine: the raw scores (rows, K) of the guest's rows, in their order."""
        check_is_fitted(self, "parts_")
        first = next(iter(self.parts_.values()))
        if not isinstance(X, Mapping):
            check_column_count(X, self.n_features_in_)
        given = read_parties(X, self.columns, first.guest, self.id)
        tables = {name: self._for_trees(one) for name, one in given.items()}
        check_same_parties(tables, first.parties, self.parts_)
        settings = self._prediction_settings(first.parties)
        intersection = self._intersection(tables)
        roles = {
            name: _PredictionRole(
                settings,
                self.parts_[name],
                tables[name],
                intersection,
                partial(self._count_predictions, self.predicted_rows_, name),
            )
            for name in settings.parties
        }
        with ProgressLine("predicting from all columns", shown=self.progress):
            played = play_roles(roles, PROTOCOL, settings, self.timeout_s)
        self.prediction_ledgers_: dict[str, AuditReport] = played.audits
        found = played.results[first.guest]
        assert found.scores is not None  # the guest always receives
        return in_guest_order(found.scores, found.rows, len(tables[first.guest]))

    @abstractmethod
    def _read_labels(
        self, labels: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], tuple[str, ...] | None, npt.NDArray[Any] | None]:
        """Labels as a table holds them, the names of the classes, and the classes as they were given.

        A regression has no classes: None, None. Raises InputError.
        """


class VerticalGradientBoostingClassifier(ClassifierMixin, VerticalGradientBoosting):  # type: ignore[misc]
    """Boosted trees for classes, grown by all parties together on gradients that stay encrypted.

    TreesParameters lists its parameters. `score` of scikit-learn gives the accuracy.

    Attributes:
        classes_: The classes, sorted.
        parts_: Each party's part of the model, by party.
        losses_: The loss of each iteration, over training rows.
        validation_losses_: The same over rows held out for stopping; empty without `early_stopping`.
        n_iter_: How many iterations there are.
        n_features_in_: How many columns all parties have together.
        ledgers_: What each role learned in `fit`, by role.
        seconds_: How long `fit` took.
        seconds_by_part_: The same by role and by part of the work.
        prediction_ledgers_: What each party learned in the last prediction, by party.
        predicted_rows_: How many rows each party's part has predicted, by party; `fit` begins anew, but for a warm
            start, whose rows the earlier parts predict.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import VerticalGradientBoostingClassifier
        >>> X = np.random.default_rng(1).normal(size=(400, 4))
        >>> y = np.where(X[:, 0] * X[:, 2] > 0, "repaid", "defaulted")
        >>> model = VerticalGradientBoostingClassifier(
        ...     columns={"bank": slice(0, 2), "insurer": slice(2, 4)},
        ...     max_iter=10,
        ...     max_depth=3,
        ...     learning_rate=0.5,
        ...     bin_leak_accepted="the guest may learn bins of hosts",
        ... )
        >>> model.fit(X, y).n_iter_
        10
        >>> bool(model.score(X, y) > 0.9)
        True
        >>> sorted(model.feature_importances_)
        ['bank', 'insurer']
    """

    @in_parameters
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each of the guest's rows, by a joint prediction of all parties on this machine.

        Args:
            X: Every party's columns, given as in `fit`.

        Returns:
            Classes, (rows,), in the order of the guest's rows.

        Raises:
            InputError: Columns are missing or differ from `fit`, or not every party has the guest's rows.
            PolicyError: more rows than `max_predictions` since `fit`.
        """
        numbers, _ = answers_of(self._class_names(), self._scores(X))
        return np.asarray(self.classes_[numbers])

    @in_parameters
    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class, by a joint prediction of all parties on this machine.

        Args:
            X: Every party's columns, given as in `fit`.

        Returns:
            Probabilities, float64 (rows, classes) in the order of `classes_`; each row adds up to 1.

        Raises:
            InputError: Columns are missing or differ from `fit`, or not every party has the guest's rows.
            PolicyError: more rows than `max_predictions` since `fit`.
        """
        _, probabilities = answers_of(self._class_names(), self._scores(X))
        assert probabilities is not None  # there are classes
        return probabilities

    @in_parameters
    def decision_function(self, X: Any) -> FloatArray:
        """Compute the sums of leaves that probabilities follow from, by a joint prediction on this machine.

        Args:
            X: Every party's columns, given as in `fit`.

        Returns:
            Scores, float64: (rows,) of the second of two classes, (rows, classes) of more.

        Raises:
            InputError: Columns are missing or differ from `fit`, or not every party has the guest's rows.
            PolicyError: more rows than `max_predictions` since `fit`.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _class_names(self) -> list[str]:
        return [str(one) for one in getattr(self, "classes_", ("", ""))]

    def _read_labels(self, labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[str, ...], npt.NDArray[Any]]:
        check_classification_targets(labels)
        return read_classes(labels)


class VerticalGradientBoostingRegressor(RegressorMixin, VerticalGradientBoosting):  # type: ignore[misc]
    """Boosted trees for numbers by the squared error, grown by all parties together on encrypted gradients.

    TreesParameters lists its parameters. `score` of scikit-learn gives R^2.

    Attributes:
        parts_: Each party's part of the model, by party.
        losses_: The loss of each iteration, over training rows.
        validation_losses_: The same over rows held out for stopping; empty without `early_stopping`.
        n_iter_: How many iterations there are.
        n_features_in_: How many columns all parties have together.
        ledgers_: What each role learned in `fit`, by role.
        seconds_: How long `fit` took.
        seconds_by_part_: The same by role and by part of the work.
        prediction_ledgers_: What each party learned in the last prediction, by party.
        predicted_rows_: How many rows each party's part has predicted, by party; `fit` begins anew, but for a warm
            start, whose rows the earlier parts predict.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import VerticalGradientBoostingRegressor
        >>> X = np.random.default_rng(1).normal(size=(400, 4))
        >>> y = np.abs(X[:, 0]) + X[:, 3]
        >>> model = VerticalGradientBoostingRegressor(
        ...     columns={"clinic": slice(0, 2), "register": slice(2, 4)},
        ...     max_iter=10,
        ...     max_depth=3,
        ...     learning_rate=0.5,
        ...     bin_leak_accepted="the guest may learn bins of hosts",
        ... )
        >>> bool(model.fit(X, y).score(X, y) > 0.8)
        True
    """

    @in_parameters
    def predict(self, X: Any) -> FloatArray:
        """Predict the number of each of the guest's rows, by a joint prediction of all parties on this machine.

        Args:
            X: Every party's columns, given as in `fit`.

        Returns:
            Numbers in units of y, float64 (rows,), in the order of the guest's rows.

        Raises:
            InputError: Columns are missing or differ from `fit`, or not every party has the guest's rows.
            PolicyError: more rows than `max_predictions` since `fit`.
        """
        numbers, _ = answers_of(None, self._scores(X))
        return np.asarray(numbers, np.float64)

    def _read_labels(self, labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], None, None]:
        return labels, None, None


def _own_table(values: Any, name: str, id_name: IdName) -> Table:
    """A party's own table, with its labels where there are any."""
    return values if isinstance(values, Table) else as_table(values, name, id_name)
