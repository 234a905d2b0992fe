"""Attacks on columns: of a guest on a host's, from Z_h and its own D; of a host that trains, from slopes that open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import RidgeCV

from networks.attacks.watched_network import WIDTH, Seen

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


def columns_from_slopes(batches: Sequence[Seen], columns: FloatArray, known_count: int) -> FloatArray:
    """With columns (rows, c) of another party known on some rows: a map from the slopes that open to a host, over all
    epochs, to these columns, and its R^2 (c,) on all other rows.

    A row's slope is the error of its prediction times a vector of the units that are on for it, so length and
    direction are given apart, the sign by the direction that most slopes of an epoch share.
    """
    seen: list[FloatArray] = []
    for epoch in sorted({batch.epoch for batch in batches}):
        slopes = np.zeros((len(columns), WIDTH))
        for batch in batches:
            if batch.epoch == epoch and batch.host_slopes is not None:
                slopes[batch.rows] = batch.host_slopes
        lengths = np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), 1e-300)
        directions = slopes / lengths
        signs = np.sign(directions @ np.linalg.svd(directions, full_matrices=False)[2][0])[:, np.newaxis]
        seen += [directions * signs, lengths * signs]
    observed = np.concatenate(seen, axis=1)
    observed = (observed - observed.mean(axis=0)) / np.maximum(observed.std(axis=0), 1e-300)
    model = RidgeCV(np.logspace(0, 5, 11)).fit(observed[:known_count], columns[:known_count])
    rest = columns[known_count:]
    errors = ((rest - model.predict(observed[known_count:])) ** 2).sum(axis=0)
    return np.asarray(1 - errors / ((rest - rest.mean(axis=0)) ** 2).sum(axis=0))


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
