"""Gradient boosting on columns that lie at several parties: training and joint prediction, and its two estimators."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hekat.data import Table
from hekat.errors import InputError
from hekat.estimator.columns_estimator import FloatArray
from hekat.estimator.joint.answers import JointClassification, JointRegression
from hekat.estimator.joint.training import PartyTask
from hekat.estimator.parameter_words import in_parameters
from hekat.estimator.party_roles import PartyScores
from hekat.estimator.played_roles import Role
from hekat.estimator.vertical_trees.parameters import TreesParameters
from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.matching import Matching
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_roles import match_and_predict, match_and_train
from hekat.protocol.vertical_trees.party_run import TreeRecord, TreesRun
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.timing_labels import PARTS
from hekat.protocol.vertical_trees.tree_arrays import read_trees


class VerticalGradientBoosting(TreesParameters, ABC):
    """Training and prediction of both estimators; TreesParameters lists their parameters."""

    _protocol = "vertical_trees"
    _time_parts = PARTS
    _step = "tree"
    _doing = "growing trees"

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
        return self._fit(X, y)

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
            JobError: parameters that cannot be used; at the guest, label privacy without a file of flips.
            PolicyError: sums would tell the guest the bins of hosts, and `bin_leak_accepted` does not say that it may.
            ProtocolError: another party does not keep to the protocol or to the same parameters.
        """
        self._check_keeps_flips(channel.party, self.guest)
        return self._fit_party(table, channel, classes)

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
        return self._predict_party(table, channel)

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

    def _prepared(self, table: Table) -> Table:
        return self._for_trees(table)

    def _most_steps(self, settings: VerticalTreesSettings) -> int:
        return settings.training.max_iter

    def _step_of(self, record: TreeRecord) -> int:
        return record.iteration

    def _steps_done(self, part: TreesPart) -> int:
        return part.iterations

    def _training_role(self, task: PartyTask) -> Role[TreesPart]:
        def train(channel: RecordedChannel, stopwatch: Stopwatch) -> TreesPart:
            run = TreesRun(stopwatch, on_tree=task.note, start_from=task.earlier, count_predictions=task.count)
            matching = Matching(task.intersection, stopwatch)
            own = self._own_labels(channel.party, task.settings.guest)
            trained = match_and_train(channel, task.table, task.settings, matching, lambda matched: run, own_labels=own)
            return trained.part

        return train

    def _prediction_role(self, task: PartyTask) -> Role[PartyScores]:
        def predict(channel: RecordedChannel, stopwatch: Stopwatch) -> PartyScores:
            run = TreesRun(stopwatch, count_predictions=task.count)
            matching = Matching(task.intersection, stopwatch)
            found = match_and_predict(channel, task.earlier, task.table, task.settings, matching, lambda matched: run)
            return PartyScores(found.matched.positions, found.scores)

        return predict


class VerticalGradientBoostingClassifier(ClassifierMixin, JointClassification, VerticalGradientBoosting):  # type: ignore[misc]
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


class VerticalGradientBoostingRegressor(RegressorMixin, JointRegression, VerticalGradientBoosting):  # type: ignore[misc]
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
