"""What trees across columns are measured on: made-up columns of a guest and any number of hosts, and LightGBM's own."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.model.trees import TreeTraining
from hekat.protocol.vertical_trees.settings import BIN_LEAK_ACCEPTED, VerticalTreesSettings

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

GUEST = "bank"


@dataclass(frozen=True)
class Columns:
    """Rows that all parties have in one order: each party's columns, the guest's first, and labels 0 and 1."""

    features: tuple[FloatArray, ...]
    labels: IntArray

    @property
    def joined(self) -> FloatArray:
        """The table that nobody has."""
        return np.hstack(self.features)

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (GUEST, *(f"host{number}" for number in range(1, len(self.features))))

    @property
    def what(self) -> str:
        """The shape in words."""
        counts = [part.shape[1] for part in self.features]
        return f"{len(self.labels):,} x {counts[0]} + {' + '.join(map(str, counts[1:]))}"

    def tables(self) -> dict[str, Table]:
        """What each party brings."""
        return {
            name: Table(part, self.labels if name == GUEST else None, _names(name, part), name)
            for name, part in zip(self.parties, self.features, strict=True)
        }

    def settings(
        self, training: TreeTraining, protection: str = "lattice", key_bits: int = 2048
    ) -> VerticalTreesSettings:
        """A training of all parties; what sums tell of bins is accepted, as most jobs have to."""
        return VerticalTreesSettings(
            GUEST,
            self.parties[1:],
            "binary",
            ("0", "1"),
            protection=protection,  # type: ignore[arg-type]
            key_bits=key_bits,
            training=training,
            bin_leak_accepted=BIN_LEAK_ACCEPTED,
        )


def draw_columns(row_count: int, column_counts: tuple[int, ...], seed: int) -> Columns:
    """Columns as tables have them: a third normal, a third with long tails, a third of few values; labels depend on
    products and thresholds of some columns of every party, by chance."""
    rng = np.random.default_rng(seed)
    width = sum(column_counts)
    features = rng.normal(size=(row_count, width))
    features[:, 1:] += 0.5 * features[:, :-1]
    kinds = np.arange(width) % 3
    scores = features @ rng.normal(size=width) / np.sqrt(width)
    scores += features[:, 0] * features[:, -1] + np.abs(features[:, column_counts[0]])
    features[:, kinds == 1] = np.exp(features[:, kinds == 1])
    features[:, kinds == 2] = np.rint(2 * features[:, kinds == 2])
    labels = (rng.random(row_count) < 1 / (1 + np.exp(2.2 - scores))).astype(np.int64)
    ends = np.cumsum(column_counts)[:-1]
    return Columns(tuple(np.ascontiguousarray(part) for part in np.split(features, ends, axis=1)), labels)


@dataclass(frozen=True)
class Took:
    """Wall and processor seconds of one tree."""

    tree_s: float
    cpu_s: float


def time_lightgbm(features: FloatArray, labels: IntArray, training: TreeTraining, trees: int) -> Took:
    """LightGBM on the joined table in the clear, on all cores, with the same bins, depth, leaves and rate.

    Its bins are there before, as those of the trees that are measured beside it.
    """
    import lightgbm

    data = lightgbm.Dataset(features, labels, params={"max_bin": training.max_bins, "verbose": -1})
    data.construct()
    parameters = {
        "objective": "binary",
        "max_depth": training.max_depth,
        "num_leaves": 2**training.max_depth,
        "learning_rate": training.learning_rate,
        "min_data_in_leaf": training.min_samples_leaf,
        "num_threads": os.cpu_count(),
        "verbose": -1,
    }
    start, cpu_start = time.perf_counter(), time.process_time()
    lightgbm.train(parameters, data, num_boost_round=trees)
    return Took((time.perf_counter() - start) / trees, (time.process_time() - cpu_start) / trees)


def _names(party: str, features: FloatArray) -> tuple[str, ...]:
    return tuple(f"{party}_{number}" for number in range(features.shape[1]))
