"""Which rows train the trees of an iteration, the same at every party: all but those held out and not sampled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.model.trees import TreeTraining, check_row_count, hold_out_rows, sample_columns, sample_rows
from hekat.protocol.vertical_trees.arithmetic.interface import IntArray


class RowSets:
    """The rows of a training, which follow from the public seed alone.

    `held_out` (rows,) says which train nothing, `train_rows` are the others. Raises InputError for too few rows.
    """

    def __init__(self, training: TreeTraining, row_count: int) -> None:
        self._training, self._row_count = training, row_count
        self.held_out = hold_out_rows(training, row_count)
        self.train_rows = np.flatnonzero(~self.held_out)
        check_row_count(self.train_rows.size, training)

    def of(self, iteration: int) -> tuple[IntArray, IntArray]:
        """The rows that train the trees of an iteration (the first is 1), and all others; both ascend."""
        sampled = sample_rows(self._training, iteration - 1, self.train_rows)
        is_other = np.ones(self._row_count, bool)
        is_other[sampled] = False
        return sampled, np.flatnonzero(is_other)

    def columns(self, iteration: int, column_count: int) -> npt.NDArray[np.bool_]:
        """Which of so many columns of all parties the trees of an iteration may use."""
        return sample_columns(self._training, iteration - 1, column_count)
