"""Mixing: each party replaces its prepared columns by combinations of them that are hardly correlated.

Gradient descent takes as many steps as the largest eigenvalue of X^T X is larger than the smallest. A party that
multiplies its own columns with the inverse of a Cholesky factor of their correlations does away with everything in that
ratio that is its own: what remains are correlations between parties. Nothing is told for it, and weights of the mixed
columns stand for the same scores. Then no eigenvalue of a party's block exceeds 1 in any batch, and none of all blocks
together exceeds the number of parties, which gives the step (`rate_by_rule`).

Sparse rows stay as they are, divided by one number for all columns: the bound holds, the ratio is not improved.
Source: block Jacobi preconditioning, Saad 2003, "Iterative methods for sparse linear systems", section 10.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.data import Features, is_dense

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MIXING: Final = "mixing"
"""The name of the mixing among the arrays of a party's model part and state."""
# Directions with less than so much of a column's variance are not brought to the length of the others: they are mostly
# noise, and would need long integers.
LEAST_VARIANCE: Final = 1e-2
_POWER_STEPS: Final = 60
_MARGIN: Final = 1.05
_EXACT_COLUMNS: Final = 512


def rate_by_rule(score_factor: float, party_count: int) -> float:
    """The step of training on mixed columns: the curvature of the loss is at most `score_factor` times the parties."""
    return 2.0 / (score_factor * party_count)


def find_mixing(features: Features, batches: Sequence[IntArray]) -> FloatArray:
    """The mixing of a party's prepared columns (rows, columns).

    Of dense columns float64 (columns + 1, columns), whose last row is added; of sparse ones one factor for each column,
    (columns,). It depends on the rows alone, not on signs that a library may choose.
    """
    column_count = features.shape[1]
    if not column_count:
        return np.zeros((1, 0))
    if not is_dense(features):
        largest = max(_largest_eigenvalue(features[rows]) for rows in batches)
        return np.full(column_count, 1.0 / np.sqrt(largest))
    means, spreads = features.mean(axis=0), features.std(axis=0)
    centred = (features - means) / spreads
    correlations = centred.T @ centred / len(centred)
    factor = np.linalg.cholesky(correlations + LEAST_VARIANCE * np.eye(column_count))
    matrix = np.linalg.inv(factor).T / spreads[:, np.newaxis]
    mixing = np.vstack([matrix, -means @ matrix])
    largest = max(_largest_eigenvalue(apply_mixing(features[rows], mixing)) for rows in batches)
    return np.asarray(mixing / np.sqrt(max(1.0, largest)))


def apply_mixing(features: Features, mixing: npt.NDArray[Any] | None) -> Features:
    """The mixed columns of prepared features (rows, columns), dense or sparse as they are; None: the features."""
    if mixing is None:
        return features
    if mixing.ndim == 2:
        return np.asarray(features @ mixing[:-1] + mixing[-1])
    if is_dense(features):
        return np.asarray(features * mixing)
    scaled = features.copy()
    scaled.data = features.data * mixing[features.indices]
    return scaled


def _largest_eigenvalue(part: Features) -> float:
    """A bound of the largest eigenvalue of the part's X^T X / rows, within a twentieth of it."""
    row_count, column_count = part.shape
    if column_count <= _EXACT_COLUMNS:
        products: Any = part.T @ part
        gram = (products if isinstance(products, np.ndarray) else products.toarray()) / row_count
        return float(np.linalg.eigvalsh(gram)[-1])
    vector = np.ones(column_count) / np.sqrt(column_count)
    largest = 0.0
    for _ in range(_POWER_STEPS):
        image = np.asarray(part.T @ (part @ vector)) / row_count
        largest = float(np.linalg.norm(image))
        if not largest:
            break
        vector = image / largest
    return largest * _MARGIN
