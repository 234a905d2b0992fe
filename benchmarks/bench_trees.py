"""Boosted trees, whole runs with all parties on this machine, beside LightGBM and the same protocol in the clear.

    large       across columns: 1,000,000 rows, 20 + 20 columns, a tree, and the peak of memory of all parties together
    tree        30,000 rows, 13 columns and labels at the guest, 10 or 23 at a host, 32 and 64 bins, depth 6; five
                hosts; Paillier with keys of 2048 bits; nodes' rows hidden from hosts
    papers      FLASH's shape, 100,000 rows, 1 + 80 columns, under lattice and Paillier
    prediction  100,000 rows, 100 trees: a joint prediction
    rows        across rows: 5 parties, 100,000 x 30, 64 bins
    accuracy    held-out rows beside LightGBM and scikit-learn; needs --data, the folder with credit/ and a9a/

Results are checked first: trees equal those of the plain booster, node by node. A tree's seconds are the median over a
run's trees but the first, and over turns; roles compute one after the other, each on all cores. Bytes are what all
parties send, a tree. Each file of benchmarks/results is written once all of it is measured: trees.json of the parts
large to prediction, trees_rows.json, trees-accuracy.json. A run that is stopped leaves the others as they were.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from measuring.clock import Clock
from measuring.record import machine, print_rows, write_results
from trees.accuracy import SEEDS, TRAINING, keep_accuracy, measure_accuracy
from trees.across_rows import measure_rows
from trees.columns import LARGE, PAPERS, SEED, TREES, Say, measure, measure_prediction
from trees.papers import KNOWN_ELSEWHERE

ACROSS_COLUMNS = ("large", "tree", "papers", "prediction")
PARTS = (*ACROSS_COLUMNS, "rows", "accuracy")
SHOWN = ("what", "bins", "protection", "tree_s", "cpu_s", "clear_s", "times_clear", "lightgbm_s", "mb", "met")
INTERRUPTED = 130


def main() -> int:
    """All measurements, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all without any; files are written of all only")
    parser.add_argument("--data", type=Path, help="the folder with credit/ and a9a/, for accuracy")
    parser.add_argument("--no-write", action="store_true", help="print only")
    asked = parser.parse_args()
    parts = asked.parts or [part for part in PARTS if part != "accuracy" or asked.data]
    if not asked.parts and not asked.data:
        print("accuracy is not measured: give --data FOLDER, with credit/ and a9a/; its results stay as they are")
    try:
        measure_parts(parts, asked.data, writes=not asked.no_write, say=Clock())
    except KeyboardInterrupt:
        print("\nstopped: what was not measured whole stays as it was in benchmarks/results", file=sys.stderr)
        return INTERRUPTED
    print(machine())
    return 0


def measure_parts(parts: list[str], data: Path | None, *, writes: bool, say: Say) -> None:
    """Measure `parts` in their order, the largest first, whose peak of memory is then its own."""
    makers: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "large": lambda: [measure("large", LARGE, say)],
        "tree": lambda: [measure("tree", work, say) for work in TREES],
        "papers": lambda: [measure("papers", work, say) for work in PAPERS],
        "prediction": lambda: [measure_prediction(say)],
    }
    rows: list[dict[str, Any]] = []
    for part in (part for part in makers if part in parts):
        rows += makers[part]()
    print_rows([row for row in rows if row["part"] != "prediction"], SHOWN)
    versions = {"lightgbm": metadata.version("lightgbm")}
    if writes and set(ACROSS_COLUMNS) <= set(parts):
        print(write_results("trees", rows, seed=SEED, versions=versions, known_elsewhere=KNOWN_ELSEWHERE))
    if "rows" in parts:
        across = measure_rows(say)
        print_rows(across, ("what", "protection", "tree_s", "cpu_s", "times_clear", "lightgbm_s", "mb", "met"))
        if writes:
            print(write_results("trees_rows", across, seed=SEED, versions=versions))
    if "accuracy" in parts:
        scores = measure_accuracy(data, TRAINING, SEEDS, say)
        if writes:
            print(keep_accuracy(scores, TRAINING, SEEDS))


if __name__ == "__main__":
    sys.exit(main())
