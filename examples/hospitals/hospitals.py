"""Five hospitals and a common test set, cut from scikit-learn's breast-cancer set: every row real, none used twice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer

Rows = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], tuple[str, ...]]

# (malignant rows, benign rows) of each hospital: 170, 107, 77, 47 and 25 rows, 34%, 15%, 60%, 45% and 76% malignant.
HOSPITAL_ROWS = ((57, 113), (16, 91), (46, 31), (21, 26), (19, 6))
# A quarter of each class is the test set.
TEST_ROWS = (53, 90)
SEED = 20


def load(hospital: int) -> Rows:
    """Features (rows, 30), labels (0 malignant, 1 benign) and column names of hospital 0, 1, 2, 3 or 4."""
    if hospital not in range(len(HOSPITAL_ROWS)):
        raise ValueError(f"there is no hospital {hospital}: choose 0 to {len(HOSPITAL_ROWS) - 1}")
    return _cut(hospital + 1)


def load_test() -> Rows:
    """The common test set, in the form of `load`."""
    return _cut(0)


def _cut(part: int) -> Rows:
    """Part 0 is the test set, part h + 1 is hospital h; each class is shuffled once and dealt out in that order."""
    features, labels = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(SEED)
    chosen = []
    for label in (0, 1):
        rows = rng.permutation(np.flatnonzero(labels == label))
        ends = np.cumsum([counts[label] for counts in (TEST_ROWS, *HOSPITAL_ROWS)])
        chosen.append(np.split(rows, ends)[part])
    rows = np.sort(np.concatenate(chosen))
    names = tuple(str(name) for name in load_breast_cancer().feature_names)
    return features[rows], labels[rows].astype(np.int64), names
