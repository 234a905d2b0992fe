"""Boosted trees across columns, whole runs with all parties on this machine, beside LightGBM and the same in the clear.

    tree        seconds and bytes of one tree: 30,000 rows, 13 columns and labels at the guest, 10 or 23 at a host,
                32 and 64 bins, depth 6; five hosts; under Paillier with keys of 2048 bits
    large       1,000,000 rows, 20 + 20 columns, 32 bins: one tree, and the peak of memory of all parties together
    prediction  100,000 rows, 100 trees: a joint prediction

Results are checked first: trees equal those of the plain booster, node by node. A tree's seconds are the median over a
run's trees but the first; runs in the clear (protection none: the same messages, sealed) and encrypted ones alternate.
Roles compute one after the other, each on all cores. Bytes are what all parties send, a tree.
"""

from __future__ import annotations

import argparse
import resource
import statistics
from dataclasses import replace
from typing import Any

import numpy as np

from hekat.model.trees import TreeTraining, bin_table, make_objective, train_plain
from measuring.record import machine, print_rows, write_results
from trees.data import Columns, draw_columns, lightgbm_tree_s
from trees.run import TrainedTrees, score, train

SEED = 7
DEPTH = 6
KEY_BITS = 2048
MEGABYTE = 1e6
TREES, TURNS = 4, 3
LARGE_ROWS, LARGE_COLUMNS = 1_000_000, (20, 20)
PREDICTED_ROWS, PREDICTED_TREES = 100_000, 100
TO_REACH_TIMES_CLEAR = 5.0


def main() -> None:
    """All measurements, or those that are named; all together are kept in benchmarks/results/trees.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["tree", "large", "prediction"])
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if "tree" in asked.parts:
        rows += measure_trees()
    if "prediction" in asked.parts:
        rows.append(measure_prediction())
    if "large" in asked.parts:
        rows.append(measure_large())
    print(machine())
    if {"tree", "large", "prediction"} <= set(asked.parts):
        print(write_results("trees", rows, seed=SEED))


def measure_trees() -> list[dict[str, Any]]:
    """The rows of one tree's seconds and bytes."""
    rows = []
    for column_counts, bins, protection, to_reach_s, to_reach_mb in (
        ((13, 10), 32, "lattice", 1.5, 150.0),
        ((13, 23), 32, "lattice", 1.5, 150.0),
        ((13, 23), 64, "lattice", 2.5, None),
        ((13, 23, 23, 23, 23, 23), 32, "lattice", 3.0, None),
        ((13, 23), 32, "paillier", 4.0, None),
    ):
        columns = draw_columns(30_000, column_counts, SEED)
        training = TreeTraining(max_iter=TREES, max_bins=bins, max_depth=DEPTH)
        row = _measure(columns, training, protection)
        rows.append(row | {"to_reach_s": to_reach_s, "to_reach_mb": to_reach_mb})
        print_rows(rows[-1:])
    return rows


def measure_large() -> dict[str, Any]:
    """A million rows, two trees."""
    columns = draw_columns(LARGE_ROWS, LARGE_COLUMNS, SEED)
    training = TreeTraining(max_iter=2, max_bins=32, max_depth=DEPTH)
    trained = train(columns.settings(training), columns.tables())
    row = {
        "what": columns.what,
        "bins": training.max_bins,
        "protection": "lattice",
        "tree_s": trained.tree_s,
        "mb": _sent_mb(trained, training),
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "to_reach_s": 90.0,
        "to_reach_gib": 6.0,
    }
    print_rows([row])
    return row


def measure_prediction() -> dict[str, Any]:
    """All parties predict together."""
    columns = draw_columns(PREDICTED_ROWS, (13, 23), SEED)
    training = TreeTraining(max_iter=PREDICTED_TREES, max_bins=32, max_depth=DEPTH)
    settings = columns.settings(training, "none")
    trained = train(settings, columns.tables())
    scores, seconds = score(settings, trained.parts, columns.tables())
    exact = _plain_scores(columns, training)
    assert np.array_equal(scores[:, 0], exact), "a joint prediction differs from the plain booster's"
    row = {"what": f"predict {columns.what}, {PREDICTED_TREES} trees", "seconds": seconds, "to_reach_s": 20.0}
    print_rows([row])
    return row


def _measure(columns: Columns, training: TreeTraining, protection: str) -> dict[str, Any]:
    settings = columns.settings(training, protection, KEY_BITS)
    clear, encrypted = [], []
    for _ in range(TURNS):
        clear.append(train(replace(settings, protection="none"), columns.tables()))
        encrypted.append(train(settings, columns.tables()))
    scores, _ = score(settings, encrypted[0].parts, columns.tables())
    assert np.array_equal(scores[:, 0], _plain_scores(columns, training)), "trees differ from the plain booster's"
    tree_s = statistics.median(one.tree_s for one in encrypted)
    in_clear_s = statistics.median(one.tree_s for one in clear)
    return {
        "what": columns.what,
        "bins": training.max_bins,
        "protection": protection,
        "tree_s": tree_s,
        "clear_s": in_clear_s,
        "times_clear": tree_s / in_clear_s,
        "mb": _sent_mb(encrypted[0], training),
        "lightgbm_s": lightgbm_tree_s(columns, training),
        "steps_s": {name: seconds / training.max_iter for name, seconds in encrypted[0].steps.items()},
    }


def _plain_scores(columns: Columns, training: TreeTraining) -> np.ndarray[Any, np.dtype[np.float64]]:
    table = bin_table(columns.joined, training.max_bins)
    joined = np.arange(table.column_count) >= columns.features[0].shape[1]
    run = train_plain(table, columns.labels, make_objective(2), training, joined=joined)
    return run.ensemble.raw_scores(table)[0]


def _sent_mb(trained: TrainedTrees, training: TreeTraining) -> float:
    return sum(trained.sent_bytes.values()) / MEGABYTE / training.max_iter


if __name__ == "__main__":
    main()
