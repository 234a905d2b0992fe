"""OwnedModel: what the owner of a training on an encrypted model is given."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.data import Features

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OwnedModel:
    """A linear model of columns as they stand in tables: standardising is folded into the weights.

    `weights` (columns, K) and `intercept` (K,) are float64, K one for a regression and for two classes, else the number
    of classes. Of two classes a score above 0 means the second, and 1 / (1 + exp(-score)) is its probability; of more
    the class with the largest score is the answer. `round_number`: after which round; `row_count`: rows of all hosts.
    `means` and `spreads` (columns,) are of the rows of all hosts (0 and 1 where columns are not standardised).
    """

    task: str
    classes: tuple[str, ...] | None
    columns: tuple[str, ...]
    round_number: int
    row_count: int
    weights: FloatArray = field(repr=False)
    intercept: FloatArray = field(repr=False)
    means: FloatArray = field(repr=False)
    spreads: FloatArray = field(repr=False)

    @property
    def target_count(self) -> int:
        """K, the number of scores of a row."""
        return len(self.intercept)

    def scores(self, features: Features) -> FloatArray:
        """Scores (rows, K) of rows with the model's columns, dense or sparse; of a regression the numbers."""
        return np.asarray(features @ self.weights) + self.intercept
