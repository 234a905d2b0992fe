"""Which rows train the trees of an iteration, the same at every party: all but those held out and not sampled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.model.trees import TreeTraining, check_row_count, hold_out_rows, sample_columns, sample_rows
from hekat.protocol.vertical_trees.arithmetic.interface import IntArray


class RowSets:
    """The rows of a training, which follow from the public seed alone.

    `held_out` (rows,) says which train nothing, `train_rows` are the others. Raises InputError for too few rows, and
    for samples that leave out fewer than `min_samples_leaf`: the roots of two iterations would differ by single rows,
    and so would the rows of bins that hosts tell of them.
    """

    def __init__(self, training: TreeTraining, row_count: int) -> None:
        self._training, self._row_count = training, row_count
        self.held_out = hold_out_rows(training, row_count)
        self.train_rows = np.flatnonzero(~self.held_out)
        check_row_count(self.train_rows.size, training)
        left_out = self.train_rows.size - self.of(1)[0].size
        if training.subsample != 1 and left_out < training.min_samples_leaf:
            raise InputError(
                "samples of rows leave too few out",
                expected=f"{training.min_samples_leaf:,} rows or more left out of each sample, as training."
                "min_samples_leaf says, or none: bins of two samples would differ by single rows",
                got=f"{left_out} of {self.train_rows.size:,} training rows",
                cure="lower training.subsample, or leave it at 1",
            )

    def of(self, iteration: int) -> tuple[IntArray, IntArray]:
        """The rows that train the trees of an iteration (the first is 1), and all others; both ascend."""
        sampled = sample_rows(self._training, iteration - 1, self.train_rows)
        is_other = np.ones(self._row_count, bool)
        is_other[sampled] = False
        return sampled, np.flatnonzero(is_other)

    def columns(self, iteration: int, column_count: int) -> npt.NDArray[np.bool_]:
        """Which of so many columns of all parties the trees of an iteration may use."""
        return sample_columns(self._training, iteration - 1, column_count)
