"""Rows of a rehearsal: normal numbers or cells dealt out anew, with labels of every class alike, or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table


def deal_labels(classes: tuple[str, ...] | None, row_count: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Labels (rows,) in chance order: names of classes in turn, or the numbers of the rows where there are none."""
    numbers = rng.permutation(row_count)
    return numbers * 1.0 if classes is None else np.array(classes)[numbers % len(classes)]


def normal_rows(like: Table, row_count: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Normal numbers (rows, columns) in as many columns as `like` has."""
    return rng.normal(size=(row_count, len(like.feature_names)))


def deal_cells(like: Table, row_count: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """The cells of `like`, dense (rows, columns), each column dealt out anew."""
    source = np.asarray(like.features, np.float64)
    taken = [source[rng.integers(0, len(source), row_count), column] for column in range(source.shape[1])]
    return np.column_stack(taken) if taken else np.zeros((row_count, 0))
