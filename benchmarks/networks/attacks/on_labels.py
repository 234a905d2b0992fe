"""Attacks of a host on labels, from the gradient rows that open to it, or from its own features; scores are AUCs.

Each returns the AUC on rows whose labels the attack was not given: 0.5 is a guess.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from networks.attacks.watched_network import Seen

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def norm_of_rows(slopes: FloatArray, labels: IntArray) -> float:
    """Rows of the rarer class have the longer gradients. Source: Li et al. (ICLR 2022), section 3.1."""
    return float(roc_auc_score(labels, np.linalg.norm(slopes, axis=1)))


def direction_of_rows(slopes: FloatArray, labels: IntArray) -> float:
    """The cosine to one known positive row, a typical one. Source: Li et al. (ICLR 2022), section 3.2."""
    unit = slopes / np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), 1e-300)
    positives = np.flatnonzero(labels == 1)
    # Of the known positive rows the attacker takes one; the median over 5 of them is what it may expect.
    found = []
    for known in positives[:5]:
        others = np.arange(len(labels)) != known
        found.append(roc_auc_score(labels[others], unit[others] @ unit[known]))
    return float(np.median(found))


def known_labels_added(batches: Iterable[Seen], labels: IntArray, known_count: int = 30) -> float:
    """With `known_count` labels a batch: the direction between their classes' means scores the other rows.

    A row's scores, in spreads of its batch, are added up over epochs.
    """
    totals: dict[int, float] = defaultdict(float)
    for batch in batches:
        assert batch.host_slopes is not None
        rows, slopes = batch.rows, batch.host_slopes
        known, rest = slice(0, known_count), slice(known_count, None)
        told = labels[rows[known]]
        if told.min() == told.max():
            continue
        direction = slopes[known][told == 1].mean(axis=0) - slopes[known][told == 0].mean(axis=0)
        scores = slopes[rest] @ direction
        for row, score in zip(rows[rest].tolist(), (scores / max(float(scores.std()), 1e-300)).tolist(), strict=True):
            totals[row] += score
    scored = np.array(sorted(totals))
    return float(roc_auc_score(labels[scored], [totals[row] for row in scored.tolist()]))


def model_completion(features: FloatArray, labels: IntArray, known_count: int, seed: int, trials: int = 20) -> float:
    """A head fitted to the host's features of `known_count` rows with known labels: the mean over choices of them.

    Source: C. Fu et al. (USENIX Security 2022), section 4.
    """
    rng = np.random.default_rng(seed)
    spread = (features - features.mean(axis=0)) / np.maximum(features.std(axis=0), 1e-9)
    found = []
    for _ in range(trials):
        order = rng.permutation(len(labels))
        known, rest = order[:known_count], order[known_count:]
        if labels[known].min() < labels[known].max():
            head = LogisticRegression(C=0.1, max_iter=200).fit(spread[known], labels[known])
            found.append(roc_auc_score(labels[rest], head.decision_function(spread[rest])))
    return float(np.mean(found))
