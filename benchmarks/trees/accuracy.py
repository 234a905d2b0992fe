"""Boosted trees with rounded gradients and joined bins against LightGBM and scikit-learn: how good are held-out rows?

All have the same bins, depth, rate, leaves and rows in a leaf; scores are means over several draws of the held-out
rows. Exits with 1 where AUC is further below LightGBM's than 0.002, or RMSE further above it than half a percent.

    cd benchmarks && ../.venv/bin/python -m trees.accuracy --data FOLDER
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from hekat.model.trees import TreeTraining
from measuring.record import print_rows, write_results
from trees.compare_lightgbm import compare, compared_data

COLUMNS = ("data", "metric", "hekat", "exact", "lightgbm", "scikit_learn", "better_than_lightgbm")
SEEDS = 3
TRAINING = TreeTraining(max_bins=32)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with credit/ and a9a/; without it these two are left out")
    parser.add_argument("--only", default="", help="the data sets whose names hold this")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many draws of held-out rows")
    parser.add_argument("--iterations", type=int, default=TRAINING.max_iter)
    parser.add_argument("--bins", type=int, default=TRAINING.max_bins)
    parser.add_argument("--gradient-bits", type=int, default=TRAINING.gradient_bits)
    parser.add_argument("--min-samples-leaf", type=int, default=TRAINING.min_samples_leaf)
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    training = TreeTraining(
        max_iter=options.iterations,
        max_bins=options.bins,
        gradient_bits=options.gradient_bits,
        min_samples_leaf=options.min_samples_leaf,
    )
    rows = measure_accuracy(options.data, training, options.seeds, only=options.only)
    if not options.no_write:
        print(keep_accuracy(rows, training, options.seeds))
    return 0 if all(row["better_than_lightgbm"] >= -row["allowed"] for row in rows) else 1


def measure_accuracy(
    folder: Path | None, training: TreeTraining, seeds: int, say: Callable[[str], None] = print, *, only: str = ""
) -> list[dict[str, Any]]:
    """A row for each data set whose name holds `only`, printed all together at the end; `say` hears of each draw."""
    rows: list[dict[str, Any]] = []
    for data in compared_data(folder):
        if only in data.name:
            rows.append(compare(data, training, seeds, say))
    print_rows([{name: _rounded(row[name]) for name in COLUMNS} for row in rows])
    return rows


def keep_accuracy(rows: Sequence[dict[str, Any]], training: TreeTraining, seeds: int) -> Path:
    """Write benchmarks/results/trees-accuracy.json."""
    versions = {name: metadata.version(name) for name in ("lightgbm", "scikit-learn")}
    settings = {name: value for name, value in vars(training).items() if value is not None}
    return write_results("trees-accuracy", rows, seeds=seeds, training=settings, versions=versions)


def _rounded(value: object) -> object:
    return f"{value:.5f}" if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
