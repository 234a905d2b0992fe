"""A split network in plain NumPy, with what each party would see: what attacks are tried on.

The network is a guest's bottom, an interactive layer Z = A_g W_g + A_h W_h + b, and a top, as in the protocol, without
its encryption and fixed point, which change none of the numbers that open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from hekat.model.split import BottomTask, DenseTop, dense_bottom, make_loss, random_features, source_columns
from networks.attacks.gradient_noise import GradientNoise

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
HostBottom = Literal["frozen", "source", "trained"]

BATCH_ROWS = 1024
WIDTH = UNITS = 32
SHARED_RATE, ADAM_RATE = 0.1, 0.005


@dataclass(frozen=True)
class SplitColumns:
    """Prepared columns of guest and host, classes 0 and 1, and which rows train; the others test."""

    guest: FloatArray
    host: FloatArray
    labels: IntArray
    train: IntArray
    test: IntArray


@dataclass(frozen=True)
class Seen:
    """One batch: its rows; what opens to the guest (`opened`, which is Z_h, and its own D); what opens to the host
    (`host_slopes`, None where nothing does); and the host's features, which leave it under no form."""

    epoch: int
    rows: IntArray
    opened: FloatArray
    D: FloatArray
    host_slopes: FloatArray | None
    host_features: FloatArray


class SplitNetwork:
    """Both parties' halves. `targets` (rows,) stand in for labels wherever training uses them."""

    def __init__(
        self,
        columns: SplitColumns,
        host_bottom: HostBottom,
        seed: int,
        targets: FloatArray | None = None,
        noise: GradientNoise | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self.columns, self._noise, self._batch_rows = columns, noise, batch_rows
        self.targets = columns.labels.astype(float) if targets is None else targets
        seeds = np.random.SeedSequence(seed).generate_state(5).tolist()
        rng = np.random.default_rng(seeds[0])
        self._order = rng.permutation(columns.train)
        trains = host_bottom == "trained"
        make_host = {"frozen": random_features, "source": source_columns, "trained": dense_bottom}[host_bottom]
        self._guest = dense_bottom(BottomTask(columns.guest, WIDTH, True, seeds[1], ADAM_RATE))
        self._host = make_host(BottomTask(columns.host, WIDTH, trains, seeds[2], ADAM_RATE))
        self._top = DenseTop(UNITS, (), 1, activation="relu", learning_rate=ADAM_RATE, seed=seeds[3])
        self.guest_weight = rng.normal(size=(WIDTH, UNITS)) / np.sqrt(2 * WIDTH)
        self.host_weight = rng.normal(size=(self._host.width, UNITS)) / np.sqrt(2 * self._host.width)
        self._bias, self._loss = np.zeros(UNITS), make_loss(2)
        self._velocity: list[FloatArray] = [np.zeros(1)] * 3

    def train(self, epochs: int) -> Iterator[Seen]:
        """The batches of so many epochs, the same rows in each."""
        size = self._batch_rows
        for epoch in range(epochs):
            for start in range(0, len(self._order) - size + 1, size):
                yield self._step(epoch, self._order[start : start + size])

    def _step(self, epoch: int, rows: IntArray) -> Seen:
        A_g, A_h = self._guest.forward(self.columns.guest[rows]), self._host.forward(self.columns.host[rows])
        Z_h = A_h @ self.host_weight
        outputs = self._top.forward(A_g @ self.guest_weight + Z_h + self._bias)
        gradient, D = self._top.backward(self._loss.slopes(outputs, self.targets[rows, np.newaxis]) / len(rows))
        self._guest.step(self._guest.backward(D @ self.guest_weight.T))
        slopes = None
        if self._host.trains:
            slopes = D @ self.host_weight.T
            if self._noise is not None:
                slopes = self._noise.add(slopes, self.targets[rows] > 0.5, rows)
            self._host.step(self._host.backward(slopes))
        self._top.step(gradient)
        moves = (A_g.T @ D, A_h.T @ D, D.sum(axis=0))
        self._velocity = [0.9 * before + move for before, move in zip(self._velocity, moves, strict=True)]
        for tensor, move in zip((self.guest_weight, self.host_weight, self._bias), self._velocity, strict=True):
            tensor -= SHARED_RATE * move
        return Seen(epoch, rows, Z_h, D, slopes, A_h)

    def host_features(self, rows: IntArray) -> FloatArray:
        """The host's features A_h of any rows, as they are now."""
        return self._host.evaluate(self.columns.host[rows])

    def test_auc(self) -> float:
        """Of the model, on true labels."""
        rows = self.columns.test
        Z = self._guest.evaluate(self.columns.guest[rows]) @ self.guest_weight + self._bias
        scores = self._top.evaluate(Z + self.host_features(rows) @ self.host_weight)
        return float(roc_auc_score(self.columns.labels[rows], scores[:, 0]))


def draw_split_columns(row_count: int, seed: int) -> SplitColumns:
    """13 + 10 columns, a fifth of labels 1, which the columns tell with an AUC of about 0.8 and not outright."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(row_count, 23))
    hidden = np.maximum(X @ rng.normal(size=(23, 12)) / np.sqrt(23), 0) @ rng.normal(size=12)
    score = 1.4 * (hidden - hidden.mean()) / hidden.std() - 1.7
    labels = (rng.random(row_count) < 1 / (1 + np.exp(-score))).astype(np.int64)
    cut = row_count * 4 // 5
    return SplitColumns(X[:, :13], X[:, 13:], labels, np.arange(cut), np.arange(cut, row_count))
