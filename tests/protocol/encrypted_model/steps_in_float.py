"""The training step by step in float64, without any map: the oracle of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.vertical.batches import draw_batches


def train_in_steps(settings: EncryptedModelSettings, tables: Mapping[str, Table]) -> OwnedModel:
    """The model that all hosts' steps end with, averaged by rows after every round."""
    training, count = settings.training, settings.target_count
    features = {host: np.asarray(tables[host].features) for host in settings.hosts}
    labels = {host: np.asarray(tables[host].labels) for host in settings.hosts}
    total = sum(len(values) for values in features.values())
    joined, joined_labels = np.concatenate(list(features.values())), np.concatenate(list(labels.values()))
    means, spreads = np.zeros(joined.shape[1]), np.ones(joined.shape[1])
    label_mean, label_spread = 0.0, 1.0
    if training.standardise:
        means, spreads = joined.mean(axis=0), joined.std(axis=0)
        if settings.task == "linear":
            label_mean, label_spread = float(joined_labels.mean()), float(joined_labels.std())
    w, u = np.zeros((joined.shape[1] + 1, count)), np.zeros((joined.shape[1] + 1, count))
    for _ in range(training.rounds):
        ends = []
        for host in settings.hosts:
            rows = np.column_stack([(features[host] - means) / spreads, np.ones(len(features[host]))])
            y = _targets(labels[host], settings, label_mean, label_spread)
            ends.append((len(rows) / total, *_local_steps(w, u, rows, y, settings)))
        w, u = (sum(end[0] * end[part] for end in ends) for part in (1, 2))
    weights = w[:-1] / spreads[:, np.newaxis] * label_spread
    intercept = w[-1] * label_spread + label_mean - means @ weights
    return OwnedModel(
        settings.task,
        settings.classes,
        tables[settings.hosts[0]].feature_names,
        training.rounds,
        total,
        weights,
        intercept,
        means,
        spreads,
    )


def _targets(
    labels: npt.NDArray[Any], settings: EncryptedModelSettings, mean: float, spread: float
) -> npt.NDArray[np.float64]:
    if settings.task == "linear":
        return np.asarray((labels - mean) / spread)[:, np.newaxis]
    if settings.target_count == 1:
        return np.where(labels == 1, 1.0, -1.0)[:, np.newaxis]
    return np.where(labels[:, np.newaxis] == np.arange(settings.target_count), 1.0, -1.0)


def _local_steps(w: Any, u: Any, rows: Any, y: Any, settings: EncryptedModelSettings) -> tuple[Any, Any]:
    training = settings.training
    of_score, of_target = (0.25, 0.5) if settings.task == "logistic" else (1.0, 1.0)
    for _ in range(training.local_epochs):
        for batch in draw_batches(len(rows), training.batch_rows, training.seed):
            d = of_score * (rows[batch] @ w) - of_target * y[batch]
            gradient = rows[batch].T @ d / len(batch)
            gradient[:-1] += training.l2 * w[:-1]
            u = (training.momentum * u if training.uses_velocity else 0.0) + training.learning_rate * gradient
            w = w - u
    return w, u
