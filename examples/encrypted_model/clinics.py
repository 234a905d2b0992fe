"""Three clinics, and an institute with rows of its own, cut from scikit-learn's breast-cancer set."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer

Rows = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], tuple[str, ...]]

# Rows of the institute, then of each clinic; 569 in all, no row twice.
ROW_COUNTS = (149, 200, 140, 80)
SEED = 21


def load(clinic: int) -> Rows:
    """Features (rows, 30), labels (0 malignant, 1 benign) and column names of clinic 0, 1 or 2."""
    if clinic not in range(len(ROW_COUNTS) - 1):
        raise ValueError(f"there is no clinic {clinic}: choose 0 to {len(ROW_COUNTS) - 2}")
    return _cut(clinic + 1)


def load_institute() -> Rows:
    """The institute's own rows, in the form of `load`: to measure the model on, never to train."""
    return _cut(0)


def _cut(part: int) -> Rows:
    data = load_breast_cancer()
    order = np.random.default_rng(SEED).permutation(len(data.target))
    rows = np.sort(np.split(order, np.cumsum(ROW_COUNTS))[part])
    return data.data[rows], data.target[rows].astype(np.int64), tuple(map(str, data.feature_names))
