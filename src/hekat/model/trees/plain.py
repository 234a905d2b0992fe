"""Boosted trees of one table in the clear: what every protected form has to grow, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hekat.errors import InputError
from hekat.model.parameters import FloatArray, Labels
from hekat.model.trees.bin_sums import BinSums
from hekat.model.trees.binned_table import BinnedTable
from hekat.model.trees.boosting import BoostedTrees, IterationLoss, boost
from hekat.model.trees.local_columns import LocalColumns
from hekat.model.trees.node import AskedNode, BoolArray, NodeId, Split
from hekat.model.trees.objective import Objective
from hekat.model.trees.rounding import GradientLevels, round_gradients
from hekat.model.trees.sampling import hold_out_rows, rounding_generator, sample_columns, sample_rows
from hekat.model.trees.settings import TreeTraining
from hekat.model.trees.tree import Tree, TreeEnsemble


@dataclass(frozen=True)
class PlainRun:
    """A trained model with its losses by iteration, the losses of a model that it went on from first."""

    ensemble: TreeEnsemble
    losses: tuple[IterationLoss, ...]


def train_plain(
    table: BinnedTable,
    y: Labels,
    objective: Objective,
    training: TreeTraining,
    *,
    joined: BoolArray | None = None,
    first_without_joined: int = 0,
    warm_start: PlainRun | None = None,
) -> PlainRun:
    """Trees on the rows of `table` with labels y, shape (rows,).

    `joined`, shape (columns,): columns whose small bins are joined before sums are taken, as hosts do; None: none.
    `first_without_joined`: so many first iterations leave these columns out.
    `warm_start`: a model on the same bins, whose iterations count. Raises InputError for labels that are missing or do
    not fit, and where too few rows train to divide them at all.
    """
    started = warm_start.ensemble if warm_start else None
    source = PlainSource(table, y, objective, training, joined, first_without_joined, started)
    before = BoostedTrees(warm_start.ensemble.trees, warm_start.losses) if warm_start else None
    grown = boost(source, training, objective.tree_count, before=before)
    return PlainRun(TreeEnsemble(source.start_scores, grown.trees), grown.losses)


def check_row_count(row_count: int, training: TreeTraining) -> None:
    """Raise InputError where no row set of an iteration can be divided in two of `min_samples_leaf` rows."""
    trains = round(row_count * training.subsample)
    if trains < 2 * training.min_samples_leaf:
        raise InputError(
            "too few rows for a split",
            expected=f"{2 * training.min_samples_leaf:,} training rows or more, twice training.min_samples_leaf",
            got=str(trains),
            cure="lower training.min_samples_leaf, or give more rows",
        )


class PlainSource:
    """A table with its labels here: a source of sums that keeps scores."""

    def __init__(
        self,
        table: BinnedTable,
        y: Labels,
        objective: Objective,
        training: TreeTraining,
        joined: BoolArray | None = None,
        first_without_joined: int = 0,
        started: TreeEnsemble | None = None,
    ) -> None:
        objective.check_labels(y)
        if y.shape != (table.row_count,):
            raise InputError("labels do not fit the rows", expected=f"{table.row_count} labels", got=str(y.size))
        is_joined = np.zeros(table.column_count, bool) if joined is None else joined
        self._is_joined, self._first_without_joined = is_joined, first_without_joined
        self._joins_bins = bool(is_joined.any())
        self._columns = LocalColumns(table, np.where(is_joined, training.min_samples_leaf, 0))
        self._y, self._objective, self._training = y, objective, training
        self._held_out = hold_out_rows(training, table.row_count)
        self._train_rows = np.flatnonzero(~self._held_out)
        check_row_count(len(self._train_rows), training)
        if started is None:
            trained = y[self._train_rows]
            self.start_scores = objective.start_scores(objective.label_sums(trained), len(trained))
            started = TreeEnsemble(self.start_scores)
        self.start_scores = started.start_scores
        self._scores = started.raw_scores(table)
        self._first = self._second = np.zeros_like(self._scores)
        self._levels: GradientLevels | None = None

    @property
    def is_category(self) -> BoolArray:
        return self._columns.is_category

    @property
    def gradient_scales(self) -> FloatArray:
        return self._now.gradient_scales

    @property
    def hessian_scales(self) -> FloatArray:
        return self._now.hessian_scales

    @property
    def joins_bins(self) -> bool:
        return self._joins_bins

    @property
    def scores(self) -> FloatArray:
        """The scores of all rows so far, shape (trees, rows)."""
        return self._scores

    def begin_iteration(self, iteration: int) -> None:
        training, objective = self._training, self._objective
        rows = sample_rows(training, iteration, self._train_rows)
        self._first, self._second = objective.gradients(self._scores, self._y)
        rounded = round_gradients(
            self._first[:, self._train_rows],
            self._second[:, self._train_rows],
            training.gradient_bits,
            rounding_generator(training, iteration),
            has_constant_hessian=objective.has_constant_hessian,
        )
        self._levels = rounded.spread(self._train_rows, len(self._y))
        sampled = sample_columns(training, iteration, self._columns.table.column_count)
        uses_joined = iteration >= self._first_without_joined
        self._joins_bins = bool(self._is_joined.any()) and uses_joined
        if not uses_joined:
            sampled = sampled & ~self._is_joined
        self._columns.start(rows, objective.tree_count, sampled)

    def sum_bins(self, asked: Sequence[AskedNode]) -> BinSums:
        return self._columns.sum_bins(asked, self._now)

    def split_nodes(self, splits: Sequence[Split]) -> Sequence[BoolArray]:
        found = []
        for split in splits:
            found.append(self._columns.left_bins(split))
            self._columns.divide(split, self._columns.goes_left(split))
        return found

    def sum_leaves(self, leaves: Sequence[NodeId]) -> FloatArray:
        rows = [self._columns.rows_of(leaf) for leaf in leaves]
        return sum_rows(rows, [leaf.tree for leaf in leaves], self._first, self._second)

    def end_iteration(self, trees: Sequence[Tree]) -> IterationLoss:
        for k, tree in enumerate(trees):
            self._scores[k] += tree.value[tree.leaf_of_digits(self._columns.table.digits)]
        losses = self._objective.row_losses(self._scores, self._y)
        held_out = float(losses[self._held_out].mean()) if self._held_out.any() else None
        return IterationLoss(float(losses[self._train_rows].mean()), held_out)

    @property
    def _now(self) -> GradientLevels:
        if self._levels is None:
            raise InputError("no iteration has begun", expected="begin_iteration before sums", got="none")
        return self._levels


def sum_rows(rows: Sequence[np.ndarray], trees: Sequence[int], first: FloatArray, second: FloatArray) -> FloatArray:
    """Sums of both derivatives, shape (trees, rows), over sets of rows, each in ascending order: shape (sets, 2).

    Rows are added one after the other, so that whoever adds the same rows has the same last bit.
    """
    sums = np.zeros((len(rows), 2))
    for n, (of_set, tree) in enumerate(zip(rows, trees, strict=True)):
        zeros = np.zeros(len(of_set), np.int64)
        for i, values in enumerate((first, second)):
            sums[n, i] = np.bincount(zeros, values[tree, of_set], minlength=1)[0]
    return sums
