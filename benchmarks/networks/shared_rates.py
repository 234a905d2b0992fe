"""What rate of the shared layer serves small tables: a rate by rule beside fixed ones, in the clear, over starts.

    PYTHONPATH=benchmarks .venv/bin/python -m networks.shared_rates [--credit FOLDER] [--seeds 5]

Each figure is the mean over seeds of R^2 or AUC on 1,000 rows that trained nothing, and the lowest of them; of credit
the AUC on its test rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score, roc_auc_score

from hekat.data import Table
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.settings import ROTATION_ACCEPTED, VerticalNetworkSettings
from measuring.record import print_rows
from networks.split_network import make_settings, score, seeds_of, train
from vertical.data import GUEST, HOST, read_credit

FloatArray = npt.NDArray[np.float64]
Tables = dict[str, Table]

RATES = (0.0, 0.02, 0.05, 0.1, 0.2)
"""0: by rule."""
GUEST_COLUMNS, HOST_COLUMNS, TEST_ROWS = 4, 4, 1000


@dataclass(frozen=True)
class Case:
    """A made table and a network for it; `width` are the features of each bottom, and the units."""

    is_linear: bool
    is_regression: bool
    rows: int
    batch_rows: int
    epochs: int
    width: int = 32

    @property
    def words(self) -> str:
        target = f"{'linear' if self.is_linear else 'nonlinear'}, {'numbers' if self.is_regression else 'two classes'}"
        return f"{target}; {self.width} features; {self.rows:,} rows by {self.batch_rows:,}, {self.epochs} epochs"

    def settings(self, rate: float, seed: int) -> VerticalNetworkSettings:
        """In the clear, at the defaults of everything else."""
        return VerticalNetworkSettings(
            GUEST,
            (HOST,),
            task="regression" if self.is_regression else "binary",
            classes=None if self.is_regression else ("0", "1"),
            protection="none",
            network=NetworkShape(units=self.width, guest_width=self.width, host_width=self.width),
            training=NetworkTraining(self.epochs, self.batch_rows, shared_rate=rate, seed=seed),
            rotation_accepted=ROTATION_ACCEPTED,
        )

    def draw(self, seed: int) -> tuple[Tables, Tables]:
        """Rows to train on, and rows to test on."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(self.rows + TEST_ROWS, GUEST_COLUMNS + HOST_COLUMNS))
        if self.is_linear:
            signal = X @ rng.choice([-1.0, 1.0], X.shape[1])
        else:
            signal = 2 * np.sin(X[:, 0]) + X[:, 1] * X[:, 4] + np.abs(X[:, 5]) + X[:, 2] - X[:, 6]
        signal = (signal - signal.mean()) / signal.std()
        numbers = signal + rng.normal(scale=0.1, size=len(X))
        classes = (rng.random(len(X)) < 1 / (1 + np.exp(-3 * signal))).astype(np.int64)
        labels = numbers if self.is_regression else classes
        return _tables(X[: self.rows], labels[: self.rows]), _tables(X[self.rows :], labels[self.rows :])


CASES = [
    *(
        Case(is_linear, is_regression, *sizes)
        for is_regression in (True, False)
        for is_linear in (True, False)
        for sizes in ((200, 1024, 10), (400, 100, 20), (2000, 1024, 10))
    ),
    *(Case(True, True, 400, 100, 20, width) for width in (8, 128)),
]


def measure(case: Case, rate: float, seeds: range) -> list[float]:
    """R^2 or AUC by seed, which draws rows, weights and batches."""
    found = []
    for seed in seeds:
        tables, tests = case.draw(seed)
        settings = case.settings(rate, seed)
        scores = score(settings, train(settings, tables, seeds_of(seed)).parts, tests)
        judge = r2_score if case.is_regression else roc_auc_score
        found.append(float(judge(tests[GUEST].labels, scores)))
    return found


def measure_credit(folder: Path, bottom: str, rate: float, seeds: range) -> list[float]:
    """The AUC on UCI's credit data after 10 epochs, by seed."""
    data, train_rows, test_rows = read_credit(folder)
    found = []
    for seed in seeds:
        training = NetworkTraining(epochs=10, shared_rate=rate, seed=seed)
        settings = replace(make_settings(bottom, training), protection="none")
        parts = train(settings, data.tables(train_rows), seeds_of(seed)).parts
        found.append(float(roc_auc_score(data.labels[test_rows], score(settings, parts, data.tables(test_rows)))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--credit", type=Path, help="folder of UCI's credit files; without it they are left out")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    seeds = range(1, given.seeds + 1)
    rows = [_row(case.words, lambda rate, case=case: measure(case, rate, seeds)) for case in CASES]  # type: ignore[misc]
    for bottom in ("frozen", "source") if given.credit else ():
        rows.append(
            _row(f"credit, {bottom}", lambda rate, name=bottom: measure_credit(given.credit, name, rate, seeds))
        )  # type: ignore[misc]
    print_rows(rows)


def _row(what: str, by_rate: Callable[[float], list[float]]) -> dict[str, Any]:
    row = {"what": what}
    for rate in RATES:
        found = by_rate(rate)
        row[f"{rate:g}" if rate else "by rule"] = f"{np.mean(found):.3f} ({min(found):.3f})"
    print(row, flush=True)
    return row


def _tables(X: FloatArray, labels: npt.NDArray[Any]) -> Tables:
    guest, host = X[:, :GUEST_COLUMNS], X[:, GUEST_COLUMNS:]
    return {
        GUEST: Table(guest, labels, tuple(f"g{number}" for number in range(guest.shape[1])), GUEST),
        HOST: Table(host, None, tuple(f"h{number}" for number in range(host.shape[1])), HOST),
    }


if __name__ == "__main__":
    main()
