"""Boosted trees on rows of several parties, in the shape of scikit-learn's HistGradientBoosting."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hekat.data import Table
from hekat.errors import InputError
from hekat.estimator.common_rows import DEFAULT_TIMEOUT_S
from hekat.estimator.horizontal_parameters import AGGREGATOR
from hekat.estimator.horizontal_rows import (
    encode_classes,
    encode_numbers,
    features_of_fit,
    keep_names,
    open_states,
    read_tables,
)
from hekat.estimator.parameter_words import in_parameters
from hekat.estimator.party_tables import as_table
from hekat.estimator.played_roles import PlayedRoles, Role, play_roles
from hekat.estimator.tree_training import tree_training
from hekat.ledger import AuditReport, RecordedChannel
from hekat.model.trees import bin_rows, make_objective
from hekat.progress_line import ProgressLine
from hekat.protocol.horizontal_trees.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal_trees.measures import loss_of
from hekat.protocol.horizontal_trees.party import PartyRun, run_party
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.protocol.horizontal_trees.training import IterationRecord, LocalRun
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.settings import Protection
from hekat.protocol.stopwatch import Stopwatch

FloatArray = npt.NDArray[np.float64]
PROTOCOL = "horizontal_trees"


class HorizontalTrees(BaseEstimator):  # type: ignore[misc]
    """Training and answers of boosted trees across rows, with the parameters of both estimators.

    Args:
        max_iter: How many iterations of trees, at most; an iteration is one tree, or one for each of three or more
            classes.
        learning_rate: What a tree's leaves are multiplied by.
        max_depth: The most splits from root to leaf.
        max_leaf_nodes: The most leaves of a tree; None: as many as the depth allows.
        min_samples_leaf: The fewest rows of all parties in a leaf.
        l2_regularization: What is added to the sum of second derivatives of a node.
        max_bins: The most bins of a column's values; missing values have one more.
        max_features: The part of the columns that an iteration may split by.
        early_stopping: Whether rows are held out, and training ends once they gain nothing more.
        validation_fraction: The part of every party's rows that is held out then.
        n_iter_no_change: So many iterations without a gain end training.
        tol: The least gain.
        subsample: The part of its rows that each party draws for an iteration.
        min_gain: What a split gains at least.
        min_child_weight: The least sum of second derivatives in a leaf.
        gradient_bits: The bits of a row's gradient in sums; leaves have finer sums.
        warm_start: Whether `fit` goes on from the trees of the last `fit`, to `max_iter` of them.
        random_state: What draws and roundings follow from; None: drawn anew by each `fit`.
        protection: `"lattice"`, `"paillier"`, or `"none"`: in the clear.
        key_bits: The size of the Paillier key, in bits.
        allow_two_parties: Whether two parties accept that each learns the other's sums.
        timeout_s: How long a role waits for one message, in seconds.
        progress: Whether `fit` shows on stderr how far it is, once it takes longer than two seconds; None: where stderr
            is a terminal, and in a notebook.
    """

    def __init__(
        self,
        *,
        max_iter: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 6,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_bins: int = 64,
        max_features: float = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        subsample: float = 1.0,
        min_gain: float = 0.0,
        min_child_weight: float = 1e-3,
        gradient_bits: int = 4,
        warm_start: bool = False,
        random_state: int | None = None,
        protection: Protection = "lattice",
        key_bits: int = 3072,
        allow_two_parties: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        progress: bool | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.max_features = max_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.subsample = subsample
        self.min_gain = min_gain
        self.min_child_weight = min_child_weight
        self.gradient_bits = gradient_bits
        self.warm_start = warm_start
        self.random_state = random_state
        self.protection = protection
        self.key_bits = key_bits
        self.allow_two_parties = allow_two_parties
        self.timeout_s = timeout_s
        self.progress = progress

    @in_parameters
    def fit(self, X: Any, y: Any = None) -> Self:
        """Train: this process plays every role, through sealed channels, as on machines of their own.

        Args:
            X: `{party: array, data frame or hekat.data.Table}`, the same columns at every party, NaN where a value is
                missing; or `{party: (rows, labels)}`.
            y: `{party: labels}`, one for each row; None: the labels beside the rows in X, or in its Tables.

        Returns:
            The fitted estimator itself.

        Raises:
            InputError: rows or labels that cannot be used, or parameters.
            PolicyError: two parties where `allow_two_parties` is not set.
            PartyStoppedError: a role failed for another reason.
        """
        tables, classes = self._encode(read_tables(X, y, may_lack_values=True))
        settings = self._settings(tables, None if classes is None else tuple(map(str, classes)))
        before = self._begin_from(tables, classes) if self.warm_start and hasattr(self, "_state") else None
        played = self._train(tables, settings, before)
        state = played.results[settings.leader]
        assert state is not None
        keep_names(self, X, tables)
        if classes is not None:
            self.classes_: npt.NDArray[Any] = classes
        self._keep(state, settings)
        self.ledgers_: dict[str, AuditReport] = played.audits
        self.seconds_: float = played.seconds
        return self

    def _encode(self, tables: dict[str, Table]) -> tuple[dict[str, Table], npt.NDArray[Any] | None]:
        """(tables whose labels are as trees take them, the classes of all parties or None for numbers)."""
        raise NotImplementedError

    def _settings(self, tables: Mapping[str, Table], classes: tuple[str, ...] | None) -> HorizontalTreesSettings:
        most = max(len(table) for table in tables.values())
        return HorizontalTreesSettings(
            parties=tuple(tables),
            aggregator=AGGREGATOR,
            classes=classes,
            # A public bound: the next power of two tells no party's own number.
            weight_max=1 << (most - 1).bit_length(),
            protection=self.protection,
            key_bits=self.key_bits,
            allow_two_parties=self.allow_two_parties,
            training=tree_training(self, secrets.randbits(62) if self.random_state is None else self.random_state),
        )

    def _begin_from(self, tables: Mapping[str, Table], classes: npt.NDArray[Any] | None) -> TreesState:
        """The model to go on from. Raises InputError for other columns, other classes, or no iteration more."""
        columns = next(iter(tables.values())).features.shape[1]
        known = getattr(self, "classes_", None)
        is_same = known is classes if known is None or classes is None else np.array_equal(known, classes)
        if columns != self.n_features_in_ or not is_same:
            raise InputError(
                "a warm start needs the columns and classes of the fit before",
                expected=f"{self.n_features_in_} columns and the same classes",
                got=f"{columns} columns" + ("" if is_same else " and other classes"),
                cure="set warm_start=False, or clone the estimator",
            )
        if self.max_iter <= self._state.iterations_done:
            raise InputError(
                "a warm start has nothing to add",
                expected=f"max_iter above {self._state.iterations_done}, the iterations there are",
                got=str(self.max_iter),
                cure="raise max_iter",
            )
        return self._state.reopened()

    def _train(
        self, tables: Mapping[str, Table], settings: HorizontalTreesSettings, before: TreesState | None
    ) -> PlayedRoles[TreesState | None]:
        """All roles, played to the end."""
        line = ProgressLine("trees grow on all rows", settings.training.max_iter, shown=self.progress)

        def note(record: IterationRecord, state: TreesState) -> None:
            line.reach(record.iteration, f"iteration {record.iteration} of at most {settings.training.max_iter} done")

        with line, ExitStack() as stack:
            states = open_states(settings.sums, stack)
            roles: dict[str, Role[TreesState | None]] = {}
            for name in settings.parties:
                on_iteration = note if name == settings.leader else _silent
                roles[name] = _party_role(tables[name], settings, states.get(name), before, on_iteration)
            roles[settings.aggregator] = _aggregator_role(settings, 0 if before is None else before.iterations_done)
            return play_roles(roles, PROTOCOL, settings, self.timeout_s)

    def _keep(self, state: TreesState, settings: HorizontalTreesSettings) -> None:
        self._state, self._fitted_settings = state, settings
        self.n_iter_: int = state.iterations_done
        self.n_features_in_: int = len(state.bins)
        self.losses_: list[float] = list(state.losses)
        self.validation_losses_: list[float] = [loss_of(metrics) for metrics in state.held_out]
        self.validation_: dict[str, float] = dict(state.held_out[-1]) if state.held_out else {}
        gains, splits = state.ensemble.importances(self.n_features_in_)
        self.feature_importances_: FloatArray = gains / gains.sum() if gains.sum() > 0 else gains
        self.split_counts_: npt.NDArray[np.int64] = splits

    def _answers(self, X: Any) -> FloatArray:
        """Numbers (rows,), or probabilities (rows, classes). Raises InputError for other columns and infinite cells."""
        check_is_fitted(self, "losses_")
        features = np.asarray(features_of_fit(self, X, as_table(X, "X")), dtype=np.float64)
        if np.isinf(features).any():
            raise InputError(
                "X has a value that is infinite",
                expected="finite numbers, or NaN for missing ones",
                got="infinity",
                cure="replace such values, or leave the cells empty",
            )
        scores = self._state.ensemble.raw_scores(bin_rows(features, self._state.bins))
        return make_objective(self._fitted_settings.class_count).predict(scores)


class HorizontalGradientBoostingClassifier(ClassifierMixin, HorizontalTrees):  # type: ignore[misc]
    """Boosted trees for classes, on rows of several parties: histograms are summed encrypted.

    HorizontalTrees lists its parameters. All parties hold the same trees, which equal the trees of one table with all
    rows, the same bins and the same rounding.

    Attributes:
        classes_: The classes, sorted.
        n_iter_: How many iterations there are.
        losses_: The mean log-loss of the training rows before each iteration, and of the final model.
        validation_losses_: The same of held-out rows; empty without early stopping.
        validation_: What the final model reaches on held-out rows: rows, log_loss, accuracy, auc; of numbers rmse.
        feature_importances_: Each column's part of all gains.
        split_counts_: How many splits each column has.
        n_features_in_: How many columns there are.
        feature_names_in_: Their names, where `fit` was given data frames or Tables.
        ledgers_: What each role learned in `fit`, by role.
        seconds_: How long `fit` took.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import HorizontalGradientBoostingClassifier
        >>> rng = np.random.default_rng(1)
        >>> X = {name: rng.normal(size=(200, 2)) for name in ("north", "lake", "county")}
        >>> y = {name: (rows.prod(axis=1) > 0).astype(int) for name, rows in X.items()}
        >>> model = HorizontalGradientBoostingClassifier(max_iter=10, max_depth=3, random_state=1).fit(X, y)
        >>> bool(model.score(X["lake"], y["lake"]) > 0.9)
        True
    """

    def _encode(self, tables: dict[str, Table]) -> tuple[dict[str, Table], npt.NDArray[Any]]:
        return encode_classes(tables)

    @in_parameters
    def predict_proba(self, X: Any) -> FloatArray:
        """Give the probability of each class for each row, on this machine.

        Args:
            X: Rows with the columns of `fit`.

        Returns:
            Probabilities, float64 (rows, classes), in the order of `classes_`.

        Raises:
            InputError: other columns than in `fit`, or an infinite cell.
        """
        return self._answers(X)

    @in_parameters
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each row, on this machine.

        Args:
            X: Rows with the columns of `fit`.

        Returns:
            One class for each row, shape (rows,).

        Raises:
            InputError: other columns than in `fit`, or an infinite cell.
        """
        probabilities = self._answers(X)
        found: npt.NDArray[Any] = self.classes_[np.argmax(probabilities, axis=1)]
        return found


class HorizontalGradientBoostingRegressor(RegressorMixin, HorizontalTrees):  # type: ignore[misc]
    """Boosted trees for numbers, on rows of several parties: histograms are summed encrypted.

    HorizontalTrees lists its parameters; attributes are as in HorizontalGradientBoostingClassifier, without classes;
    losses are half the mean squared error.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import HorizontalGradientBoostingRegressor
        >>> rng = np.random.default_rng(1)
        >>> X = {name: rng.normal(size=(200, 2)) for name in ("north", "lake", "county")}
        >>> y = {name: np.abs(rows).sum(axis=1) for name, rows in X.items()}
        >>> model = HorizontalGradientBoostingRegressor(max_iter=6, learning_rate=0.5, max_depth=3, random_state=1)
        >>> model = model.fit(X, y)
        >>> bool(model.score(X["lake"], y["lake"]) > 0.8)
        True
    """

    def _encode(self, tables: dict[str, Table]) -> tuple[dict[str, Table], None]:
        return encode_numbers(tables), None

    @in_parameters
    def predict(self, X: Any) -> FloatArray:
        """Predict a number for each row, on this machine.

        Args:
            X: Rows with the columns of `fit`.

        Returns:
            Numbers, float64 (rows,).

        Raises:
            InputError: other columns than in `fit`, or an infinite cell.
        """
        return self._answers(X)


def _silent(record: IterationRecord, state: TreesState) -> None:
    return None


def _party_role(
    table: Table,
    settings: HorizontalTreesSettings,
    state: UploadState | None,
    before: TreesState | None,
    on_iteration: Any,
) -> Role[TreesState | None]:
    def play(channel: RecordedChannel, stopwatch: Stopwatch) -> TreesState | None:
        resumed = None if before is None else before.copy()
        local = LocalRun(stopwatch, on_iteration, resume_from=resumed)
        return run_party(channel, table, settings, PartyRun(local, upload_state=state))

    return play


def _aggregator_role(settings: HorizontalTreesSettings, done: int) -> Role[TreesState | None]:
    def play(channel: RecordedChannel, stopwatch: Stopwatch) -> None:
        run_aggregator(channel, settings, AggregatorRun(stopwatch, done))

    return play
