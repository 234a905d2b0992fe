"""The checks of rows and labels that every model makes before it computes."""

from __future__ import annotations

import numpy as np

from hekat.errors import InputError
from hekat.model.parameters import Features, Labels


def check_features(X: Features, column_count: int) -> None:
    """Raise InputError unless X is of float64 with the model's columns."""
    if X.ndim != 2 or X.shape[1] != column_count or X.dtype != np.float64:
        raise InputError(
            "features do not fit the model",
            expected=f"shape (rows, {column_count}) of float64",
            got=f"shape {X.shape} of {X.dtype}",
            cure="use the columns that the model was trained on, as float64",
        )


def check_label_count(X: Features, y: Labels) -> None:
    """Raise InputError unless there are rows, and one label for each."""
    if X.shape[0] == 0:
        raise InputError("a loss over no rows", expected="at least one row", got="0 rows")
    if y.shape != X.shape[:1]:
        raise InputError(
            "labels do not fit the features",
            expected=f"shape ({X.shape[0]},)",
            got=f"shape {y.shape}",
            cure="give one label for every row",
        )
