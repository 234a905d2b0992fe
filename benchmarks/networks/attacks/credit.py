"""Attacks on a split network, tried on UCI's credit data: what a host finds of labels, what a guest finds of columns.

    PYTHONPATH=benchmarks .venv/bin/python -m networks.attacks.credit --credit FOLDER [--seeds 2] [--epochs 10]

The first table has a trained bottom under each defence; the second what a head on 40 known labels gains from the host's
features, and how well 64 known rows tell the host's columns of the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from hekat.protocol.vertical.label_privacy import RandomisedResponse
from measuring.record import print_rows
from networks.attacks.gradient_noise import GradientNoise
from networks.attacks.on_columns import columns_from_known_rows
from networks.attacks.on_labels import direction_of_rows, known_labels_added, model_completion, norm_of_rows
from networks.attacks.watched_network import FloatArray, IntArray, Seen, SplitColumns, SplitNetwork
from vertical.data import read_credit

LIMIT_SPREADS = 5.0
FIRST_BATCHES = LAST_BATCHES = 10
NOISES: dict[str, dict[str, Any]] = {
    "none": {},
    "max-norm, fresh": {"kind": "max-norm"},
    "max-norm, once a row": {"kind": "max-norm", "once": True},
    "isotropic, 4 times the largest norm": {"kind": "isotropic", "scale": 4.0},
    "along the difference, s = 8, fresh": {"kind": "difference", "scale": 8.0, "isotropic": 2.0},
    "along the difference, s = 8, once a row": {"kind": "difference", "scale": 8.0, "once": True},
}


def read_split_credit(folder: Path) -> SplitColumns:
    """UCI's credit data, 24,000 rows that train; columns standardised by them and cut at 5 spreads."""
    joined, train, test = read_credit(folder)

    def prepare(columns: FloatArray) -> FloatArray:
        scaled = StandardScaler().fit(columns[train]).transform(columns)
        return np.asarray(np.clip(scaled, -LIMIT_SPREADS, LIMIT_SPREADS))

    return SplitColumns(prepare(joined.guest), prepare(joined.host), joined.labels, train, test)


def responses(labels: IntArray, epsilon: float, seed: int) -> FloatArray:
    """Unbiased targets of labels flipped once, by randomised response; draws of the benchmark, not of a site's key."""
    response = RandomisedResponse(epsilon, 2)
    draws = np.random.default_rng(seed).integers(0, 2**64, (len(labels), 2), np.uint64)
    return response.unbiased_targets(response.answer(labels, draws))[:, 1]


def attack_labels(
    columns: SplitColumns, seed: int, epochs: int, epsilon: float | None, noise: dict[str, Any]
) -> dict[str, float]:
    """The AUC of the model, and of each attack, for one training."""
    labels = columns.labels
    targets = None if epsilon is None else responses(labels, epsilon, seed + 100)
    made = GradientNoise(row_count=len(labels), seed=seed + 200, **noise) if noise else None
    network = SplitNetwork(columns, "trained", seed, targets, made)
    batches = list(network.train(epochs))

    def mean(attack: Callable[[FloatArray, IntArray], float], some: list[Seen]) -> float:
        return float(np.mean([attack(_slopes(batch), labels[batch.rows]) for batch in some]))

    first, last = batches[:FIRST_BATCHES], batches[-LAST_BATCHES:]
    return {
        "model": network.test_auc(),
        "norm, first": mean(norm_of_rows, first),
        "norm, last": mean(norm_of_rows, last),
        "direction, first": mean(direction_of_rows, first),
        "direction, last": mean(direction_of_rows, last),
        "30 labels a batch": known_labels_added(batches, labels),
    }


def attack_features(columns: SplitColumns, seed: int, epochs: int, host_bottom: Any) -> dict[str, float]:
    """The gain of a head on 40 labels, and R^2 of the host's columns from 64 known rows after 1, 3 and all epochs."""
    network = SplitNetwork(columns, host_bottom, seed)
    batches = list(network.train(epochs))
    rows, labels = columns.test, columns.labels[columns.test]
    found = {
        "model": network.test_auc(),
        "40 labels, features": model_completion(network.host_features(rows), labels, 40, seed),
        "40 labels, columns": model_completion(columns.host[rows], labels, 40, seed),
    }
    for count in (1, 3, epochs):
        found[f"R^2, {count} epochs"] = columns_from_known_rows(batches, columns.host, 64, count)
    return found


def _slopes(batch: Seen) -> FloatArray:
    assert batch.host_slopes is not None
    return batch.host_slopes


def _row(name: str, tries: list[dict[str, float]]) -> dict[str, str]:
    """Means over seeds."""
    return {"what": name} | {key: f"{np.mean([one[key] for one in tries]):.3f}" for key in tries[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--credit", type=Path, required=True, help="folder of UCI's credit files")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    given = parser.parse_args()
    columns, seeds = read_split_credit(given.credit), range(1, given.seeds + 1)
    rows = [
        _row(name, [attack_labels(columns, seed, given.epochs, None, noise) for seed in seeds])
        for name, noise in NOISES.items()
    ]
    for epsilon in (1.0, 2.0, 3.0):
        tries = [attack_labels(columns, seed, given.epochs, epsilon, {}) for seed in seeds]
        bound = RandomisedResponse(epsilon, 2).auc_bound
        rows.append(_row(f"randomised response, epsilon {epsilon:g} (bound {bound:.3f})", tries))
    print_rows(rows)
    print()
    print_rows(
        [
            _row(bottom, [attack_features(columns, seed, given.epochs, bottom) for seed in seeds])
            for bottom in ("frozen", "source", "trained")
        ]
    )


if __name__ == "__main__":
    main()
