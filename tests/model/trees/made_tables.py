"""Tables that tests of trees train on: numbers with ties and missing values, and a column of categories."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CATEGORY_COLUMN = 3


def make_rows(row_count: int, seed: int) -> npt.NDArray[np.float64]:
    """Five columns: normal, with few values, with missing values, categories, long-tailed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(row_count, 5))
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(row_count) < 0.2, 2] = np.nan
    X[:, CATEGORY_COLUMN] = rng.integers(0, 7, row_count)
    X[:, 4] = np.exp(2 * X[:, 4])
    return X


def make_scores(X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A score that follows from every column, missing values and categories among them."""
    category_effects = np.array([0.0, 2.0, -1.0, 0.5, -2.0, 1.0, 0.0])
    third = np.where(np.isnan(X[:, 2]), 1.5, X[:, 2])
    return X[:, 0] * X[:, 1] + third + category_effects[X[:, CATEGORY_COLUMN].astype(int)] + np.log(X[:, 4]) * 0.3
