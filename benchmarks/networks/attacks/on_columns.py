"""Attacks of a guest on a host's columns, from the Z_h that opens to it and the D that it makes itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import RidgeCV

from networks.attacks.watched_network import Seen

FloatArray = npt.NDArray[np.float64]


def columns_from_known_rows(batches: Sequence[Seen], columns: FloatArray, known_count: int, epochs: int) -> float:
    """With the host's columns of some rows known: a map from the Z_h of all epochs to the columns, and the R^2 on the
    other rows of one batch, mean over columns."""
    rows = batches[0].rows
    opened = [batch.opened for batch in batches if np.array_equal(batch.rows, rows)][:epochs]
    observed = np.concatenate(opened, axis=1)
    observed = (observed - observed.mean(axis=0)) / np.maximum(observed.std(axis=0), 1e-12)
    wanted = columns[rows]
    model = RidgeCV(np.logspace(-9, 3, 13)).fit(observed[:known_count], wanted[:known_count])
    rest = wanted[known_count:]
    errors = ((rest - model.predict(observed[known_count:])) ** 2).sum(axis=0)
    return float(np.mean(1 - errors / ((rest - rest.mean(axis=0)) ** 2).sum(axis=0)))


def rotated_features(moves: Sequence[FloatArray], Ds: Sequence[FloatArray], rate: float) -> FloatArray:
    """A_h A_h^T of a batch that is trained on alone: each step moves Z_h by -rate A_h (A_h^T D).

    With G = A_h A_h^T of rank m, known products G D with m independent columns are enough: G = G D (D^T G D)^+ (G D)^T.
    """
    D = np.concatenate(Ds, axis=1)
    product = -np.concatenate(moves, axis=1) / rate
    return np.asarray(product @ np.linalg.pinv(D.T @ product, rcond=1e-10) @ product.T)


def added_identity(multiply: Callable[[FloatArray], FloatArray], share: FloatArray, feature_count: int) -> FloatArray:
    """A guest that lies encrypts V' + I in place of V', once for every `units` features: what Z_h gains is A_h.

    `multiply` is the protocol as the guest finds it: Z_h for whatever share it uses.
    """
    honest = multiply(share)
    units = share.shape[1]
    found = []
    for start in range(0, feature_count, units):
        added = np.zeros_like(share)
        for unit, feature in enumerate(range(start, min(start + units, feature_count))):
            added[feature, unit] = 1.0
        found.append((multiply(share + added) - honest)[:, : min(units, feature_count - start)])
    return np.concatenate(found, axis=1)
