"""The parameters of vertical gradient boosting, named as in scikit-learn's HistGradientBoosting, and their settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hekat.data import Table
from hekat.estimator.common_rows import DEFAULT_TIMEOUT_S
from hekat.estimator.data_frames import IdName
from hekat.estimator.joint.training import JointTraining
from hekat.estimator.party_tables import Columns
from hekat.estimator.tree_training import tree_training
from hekat.estimator.vertical_trees.categorical_features import category_names, check_their_parties, features_by_party
from hekat.protocol.vertical.prediction_limit import MAX_PREDICTIONS
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings
from hekat.protocol.vertical_trees.settings import Protection, VerticalTreesSettings


class TreesParameters(JointTraining):
    """The parameters of vertical gradient boosting: a job file's settings under plain names, checked when `fit` begins.

    Args:
        columns: Who holds which columns, where X is one array: `{party: slice, positions, mask or names}`.
        guest: The party with the labels; None: the first one named.
        id: The column of every party's data frame that says which record a row is, or `{party: column}`; `"index"`: the
            frames' index. Common rows are then found by intersection. None: rows align, or Tables have ids.
        protection: `"lattice"`; `"paillier"`; `"none"`: gradients in the clear.
        key_bits: The size of a Paillier key, in bits; with protection `"paillier"` alone.
        max_iter: Iterations, at most; each adds one tree, or one for each of three classes or more.
        learning_rate: What a leaf's value is multiplied with.
        max_depth: Splits from root to leaf, at most.
        max_leaf_nodes: Leaves of a tree, at most; None: no limit.
        min_samples_leaf: Rows of a leaf at least; sums of a host's column in one tree, however added and subtracted,
            are of so many rows or more, unless `hide_partition`.
        l2_regularization: Added to a leaf's sum of second derivatives.
        min_gain: What a split has to gain more than.
        min_child_weight: A leaf's sum of second derivatives, at least.
        max_bins: Bins of a column's values, 2 to 255; missing values (NaN) have one more.
        max_features: The part of the columns that an iteration uses.
        subsample: The part of the rows that an iteration uses.
        gradient_bits: Bits of a gradient as it is summed; leaves are computed from exact gradients.
        rounding: Of a gradient to these bits: `"stochastic"` or `"nearest"`.
        categorical_features: Columns whose numbers stand for categories, by party:
            `{party: names, positions, or a mask}`.
        early_stopping: Whether rows held out of training end it.
        validation_fraction: The part of the rows that is held out for that.
        n_iter_no_change: Iterations without a gain on these rows that end training.
        tol: The least fall of their loss that counts as a gain.
        warm_start: Whether `fit` goes on from the trees of the last `fit`, in its bins. Its trees count to `max_iter`,
            and the rows of the new `fit` as predicted.
        random_state: The seed of samples and of rounding; public. None: 1.
        hide_partition: Whether hosts do not see which rows a node has; they cannot hold sums to a least number of rows
            then, and the guest opens sums of few rows.
        label_party_first_trees: So many first iterations use columns of the guest alone.
        bin_leak_accepted: The words that waive the limit on what sums tell the guest of hosts' bins: "the guest may
            learn bins of hosts". Most trainings need it.
        label_privacy: The epsilon by which labels of classes are replaced once, by chance, 0.1 to 8, before anything
            is trained; None: labels as they are. Rows need ids, by which a later fit replaces the same labels.
        label_flips: The file at the guest that all replacements follow from, one for each column of labels; None: this
            estimator's own, in memory, for `fit` alone, where one process has the tables of all parties anyway.
        intersection: How common rows are found where tables have ids: `"ecdh"` or `"rsa_blind"`; None: rows align.
        receivers: Who learns the scores of a prediction, the guest among them; None: the guest.
        max_predictions: How many rows a fitted model lets be predicted in all, at each party.
        timeout_s: How long a role waits for one message, in seconds.
        progress: Whether `fit` and predictions show on stderr how far they are, once they take longer than two seconds;
            None: where stderr is a terminal, and in a notebook.
    """

    def __init__(
        self,
        *,
        columns: Columns | None = None,
        guest: str | None = None,
        id: IdName = None,
        protection: Protection = "lattice",
        key_bits: int = 3072,
        max_iter: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 6,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        min_gain: float = 0.0,
        min_child_weight: float = 1e-3,
        max_bins: int = 64,
        max_features: float = 1.0,
        subsample: float = 1.0,
        gradient_bits: int = 4,
        rounding: str = "stochastic",
        categorical_features: Mapping[str, Any] | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        random_state: int | None = None,
        hide_partition: bool = False,
        label_party_first_trees: int = 0,
        bin_leak_accepted: str | None = None,
        label_privacy: float | None = None,
        label_flips: str | Path | None = None,
        intersection: str | None = "ecdh",
        receivers: Sequence[str] | None = None,
        max_predictions: int = MAX_PREDICTIONS,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        progress: bool | None = None,
    ) -> None:
        self.columns = columns
        self.guest = guest
        self.id = id
        self.protection = protection
        self.key_bits = key_bits
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.min_gain = min_gain
        self.min_child_weight = min_child_weight
        self.max_bins = max_bins
        self.max_features = max_features
        self.subsample = subsample
        self.gradient_bits = gradient_bits
        self.rounding = rounding
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.hide_partition = hide_partition
        self.label_party_first_trees = label_party_first_trees
        self.bin_leak_accepted = bin_leak_accepted
        self.label_privacy = label_privacy
        self.label_flips = label_flips
        self.intersection = intersection
        self.receivers = receivers
        self.max_predictions = max_predictions
        self.timeout_s = timeout_s
        self.progress = progress

    def _settings(self, parties: tuple[str, ...], classes: tuple[str, ...] | None) -> VerticalTreesSettings:
        self._check_choices(parties)
        check_their_parties(self.categorical_features, parties)
        return VerticalTreesSettings(
            guest=parties[0],
            hosts=parties[1:],
            task="regression" if classes is None else "binary" if len(classes) == 2 else "multiclass",
            classes=classes,
            protection=self.protection,
            key_bits=self.key_bits,
            training=tree_training(self, 1 if self.random_state is None else self.random_state),
            hide_partition=self.hide_partition,
            label_party_first_trees=self.label_party_first_trees,
            bin_leak_accepted=self.bin_leak_accepted,
            label_privacy=self.label_privacy,
        )

    def _prediction_settings(self, parties: tuple[str, ...]) -> TreePredictionSettings:
        return TreePredictionSettings(parties[0], parties[1:], self._receivers(parties))

    def _for_trees(self, table: Table) -> Table:
        """The table with its missing values as they are, and its columns of categories named. Raises InputError."""
        chosen = features_by_party(self.categorical_features).get(table.name, ())
        names = category_names(table.name, table.feature_names, chosen)
        return replace(table, categories=names or table.categories, keeps_gaps=True)
