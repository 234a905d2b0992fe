"""The guest's rows while trees grow: labels, scores, gradients, its own columns, and the rows that train nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hekat.model.trees import (
    BinnedTable,
    GradientLevels,
    IterationLoss,
    LocalColumns,
    NodeId,
    Objective,
    Split,
    Tree,
    make_objective,
    round_gradients,
    rounding_generator,
    sum_rows,
)
from hekat.protocol.vertical.guest_labels import Labels
from hekat.protocol.vertical_trees.arithmetic.interface import IntArray
from hekat.protocol.vertical_trees.row_sets import RowSets
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings

FloatArray = npt.NDArray[np.float64]
NO_COLUMN = -1
Bools = npt.NDArray[np.bool_]


class GuestColumns:
    """Scores and gradients of all rows, and the guest's own columns, which come first among all parties'."""

    def __init__(self, table: BinnedTable, labels: Labels, settings: VerticalTreesSettings) -> None:
        training = settings.training
        self.training, self.labels = training, labels
        self.objective: Objective = make_objective(0 if settings.classes is None else len(settings.classes))
        self.objective.check_labels(labels)
        self.row_sets = RowSets(training, table.row_count)
        self.columns = LocalColumns(table, np.zeros(table.column_count, np.int64))
        trained = labels[self.row_sets.train_rows]
        self.start_scores = self.objective.start_scores(self.objective.label_sums(trained), len(trained))
        self.scores = np.repeat(self.start_scores[:, np.newaxis], table.row_count, axis=1)
        self._others: dict[NodeId, IntArray] = {}
        self.levels: GradientLevels
        self.training_rows = self.row_sets.train_rows
        self._first = self._second = self.scores

    def begin_iteration(self, iteration: int, sampled: Bools) -> None:
        """Draw the rows of an iteration (the first is 1), and round the gradients of all rows that train."""
        training, rows, objective = self.training, self.row_sets.train_rows, self.objective
        self.training_rows, others = self.row_sets.of(iteration)
        self._first, self._second = objective.gradients(self.scores, self.labels)
        rounded = round_gradients(
            self._first[:, rows],
            self._second[:, rows],
            training.gradient_bits,
            rounding_generator(training, iteration - 1),
            has_constant_hessian=objective.has_constant_hessian,
        )
        self.levels = rounded.spread(rows, self.labels.size)
        self.columns.start(self.training_rows, objective.tree_count, sampled)
        self._others = {NodeId(tree, 0): others for tree in range(objective.tree_count)}

    def rows_of(self, node: NodeId) -> tuple[IntArray, IntArray]:
        """The rows of a node that train, and the others; together, in this order, they are the node's rows."""
        return self.columns.rows_of(node), self._others[node]

    def integers_of(self, trees: Sequence[int], rows: Sequence[IntArray], components: int) -> IntArray:
        """The integers (rows, components) of sets of rows, each in one tree: gradient, hessian, and 1."""
        parts = [np.zeros((0, components), np.int64)]
        for tree, of_set in zip(trees, rows, strict=True):
            every = np.ones(of_set.size, np.int64)
            integers = (self.levels.gradients[tree, of_set], self.levels.hessians[tree, of_set], every)
            parts.append(np.stack(integers[:components], axis=1))
        return np.concatenate(parts)

    def divide(self, node: NodeId, left_child: NodeId, right_child: NodeId, sides: Bools) -> None:
        """Hand the rows of a node to its children; `sides` (rows of `rows_of`,) are True for left."""
        training, others = self.rows_of(node)
        split = Split(node, left_child, right_child, NO_COLUMN, sides[:0], 0.0, 0, 0)
        self.columns.divide(split, sides[: training.size])
        of_others = sides[training.size :]
        del self._others[node]
        self._others[left_child], self._others[right_child] = others[of_others], others[~of_others]

    def sum_leaves(self, leaves: Sequence[NodeId]) -> FloatArray:
        """Exact sums of both derivatives of each leaf's training rows, (leaves, 2)."""
        rows = [self.columns.rows_of(leaf) for leaf in leaves]
        return sum_rows(rows, [leaf.tree for leaf in leaves], self._first, self._second)

    def end_iteration(self, trees: Sequence[Tree]) -> IterationLoss:
        """Move the scores of all rows by the grown trees."""
        for number, tree in enumerate(trees):
            for node in np.flatnonzero(tree.column < 0).tolist():
                for rows in self.rows_of(NodeId(number, node)):
                    self.scores[number, rows] += tree.value[node]
        losses = self.objective.row_losses(self.scores, self.labels)
        held_out = self.row_sets.held_out
        of_held_out = float(losses[held_out].mean()) if held_out.any() else None
        return IterationLoss(float(losses[self.row_sets.train_rows].mean()), of_held_out)
