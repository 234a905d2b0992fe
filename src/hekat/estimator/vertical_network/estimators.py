"""Split networks on columns that lie at several parties: training and joint prediction, and its two estimators."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import ClassifierMixin, RegressorMixin

from hekat.estimator.joint.answers import JointClassification, JointRegression
from hekat.estimator.joint.training import PartyTask
from hekat.estimator.parameter_words import in_parameters
from hekat.estimator.party_roles import PartyScores
from hekat.estimator.played_roles import Role
from hekat.estimator.vertical_network.parameters import NetworkParameters
from hekat.ledger import RecordedChannel
from hekat.model.split import BottomMaker
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.matching import Matching
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.party_roles import match_and_predict, match_and_train
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.timing_labels import PARTS


class VerticalNetwork(NetworkParameters, ABC):
    """Training and prediction of both estimators; NetworkParameters lists their parameters."""

    _protocol = "vertical_network"
    _time_parts = PARTS
    _step = "epoch"
    _doing = "training a network"

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
            InputError: tables, labels or ids that cannot be used; too few rows; a column that is an id.
            JobError: parameters that cannot be used, or `column_leak_accepted` does not say what hosts accept.
            PolicyError: labels were replaced at another epsilon before.
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
            JobError: parameters that cannot be used, or `column_leak_accepted` does not say what hosts accept; at the
                guest, label privacy without a file of flips.
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
            The rows of this party that were predicted and, at the receivers, their scores: outputs of the top, (rows,
            K).

        Raises:
            InputError: the table does not have the columns of the part.
            PolicyError: more rows than `max_predictions` since `fit_party`.
            ProtocolError: another party comes with another model, other rows or other receivers.
        """
        return self._predict_party(table, channel)

    def _most_steps(self, settings: VerticalNetworkSettings) -> int:
        return settings.training.epochs

    def _step_of(self, record: NetworkRecord) -> int:
        return record.epoch

    def _steps_done(self, part: NetworkPart) -> int:
        return part.epochs

    def _bottom_of(self, party: str) -> BottomMaker | None:
        return (self.bottoms or {}).get(party)

    def _training_role(self, task: PartyTask) -> Role[NetworkPart]:
        def train(channel: RecordedChannel, stopwatch: Stopwatch) -> NetworkPart:
            run = NetworkRun(
                stopwatch,
                on_epoch=task.note,
                start_from=task.earlier,
                make_bottom=self._bottom_of(channel.party),
                make_top=self.top,
                own_labels=self._own_labels(channel.party, task.settings.guest),
                count_predictions=task.count,
            )
            matching = Matching(task.intersection, stopwatch)
            return match_and_train(channel, task.table, task.settings, matching, lambda matched: run).part

        return train

    def _prediction_role(self, task: PartyTask) -> Role[PartyScores]:
        def predict(channel: RecordedChannel, stopwatch: Stopwatch) -> PartyScores:
            run = NetworkRun(
                stopwatch,
                make_bottom=self._bottom_of(channel.party),
                make_top=self.top,
                count_predictions=task.count,
            )
            matching = Matching(task.intersection, stopwatch)
            found = match_and_predict(channel, task.earlier, task.table, task.settings, matching, lambda matched: run)
            return PartyScores(found.matched.positions, found.scores)

        return predict


class VerticalNetworkClassifier(ClassifierMixin, JointClassification, VerticalNetwork):  # type: ignore[misc]
    """A split network for classes, trained by all parties together on products that stay encrypted.

    NetworkParameters lists its parameters. `score` of scikit-learn gives the accuracy.

    Attributes:
        classes_: The classes, sorted.
        parts_: Each party's part of the model, by party.
        losses_: The loss of each epoch, averaged over its batches; of form `"sealed"` the Taylor loss.
        validation_losses_: The same over rows held out for stopping; empty without `validation_fraction`.
        n_iter_: How many epochs were trained.
        n_features_in_: How many columns all parties have together.
        ledgers_: What each role learned in `fit`, by role.
        seconds_: How long `fit` took.
        seconds_by_part_: The same by role and by part of the work.
        prediction_ledgers_: What each party learned in the last prediction, by party.
        predicted_rows_: How many rows each party's part has predicted, by party; `fit` begins anew, but for a warm
            start.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import VerticalNetworkClassifier
        >>> X = np.random.default_rng(1).normal(size=(400, 4))
        >>> y = np.where(X[:, 0] + X[:, 2] > 0, "repaid", "defaulted")
        >>> model = VerticalNetworkClassifier(
        ...     columns={"bank": slice(0, 2), "insurer": slice(2, 4)},
        ...     column_leak_accepted="the guest may learn my columns but for a rotation",
        ...     units=8,
        ...     batch_rows=100,
        ...     epochs=5,
        ... )
        >>> model.fit(X, y).n_iter_
        5
        >>> bool(model.score(X, y) > 0.8)
        True
    """


class VerticalNetworkRegressor(RegressorMixin, JointRegression, VerticalNetwork):  # type: ignore[misc]
    """A split network for numbers by the squared error, trained by all parties together on encrypted products.

    NetworkParameters lists its parameters. `score` of scikit-learn gives R^2.

    Attributes:
        parts_: Each party's part of the model, by party.
        losses_: The loss of each epoch, averaged over its batches.
        validation_losses_: The same over rows held out for stopping; empty without `validation_fraction`.
        n_iter_: How many epochs were trained.
        n_features_in_: How many columns all parties have together.
        ledgers_: What each role learned in `fit`, by role.
        seconds_: How long `fit` took.
        seconds_by_part_: The same by role and by part of the work.
        prediction_ledgers_: What each party learned in the last prediction, by party.
        predicted_rows_: How many rows each party's part has predicted, by party; `fit` begins anew, but for a warm
            start.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import VerticalNetworkRegressor
        >>> X = np.random.default_rng(1).normal(size=(400, 4))
        >>> y = X[:, 0] + X[:, 3]
        >>> model = VerticalNetworkRegressor(
        ...     columns={"clinic": slice(0, 2), "register": slice(2, 4)},
        ...     column_leak_accepted="the guest may learn my columns but for a rotation",
        ...     units=16,
        ...     batch_rows=100,
        ...     epochs=20,
        ... )
        >>> bool(model.fit(X, y).score(X, y) > 0.5)
        True
    """
