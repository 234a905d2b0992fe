"""Networks, and what FLASH's applications take that no other file measures, beside the same in the clear.

    split-network     24,000 rows, 13 + 10 columns, an interactive layer of 32 x 32, batches of 1,024: an epoch with
                      the host's features frozen, its columns themselves, and a bottom that trains; a network of 31
                      squares that lies in shares as a whole; beside the last
                      FATE's protocol on the same scheme, and in gmpy2 as FATE has it, scaled from few rows
    aggregation       DenseNet169, ResNet50 and VGG16 at their published sizes, one aggregation of five parties
    encrypted-model   logistic regression on a model that hosts cannot read: 30,000 x 23, two hosts, an epoch; beside
                      it the papers' form in gmpy2, scaled from few rows
    accuracy          AUC on UCI credit default of both, means over seeds; needs --data, the folder with credit/

Results are checked first. Figures are medians over turns, ratios are taken within a turn; roles compute one after the
other, each on all cores. Bytes are sealed ones. The five parties of VGG16 and their messages take 12 GB of memory. Each
file of benchmarks/results is written once all of it is measured: networks.json of the first three parts,
networks-accuracy.json. A run that is stopped leaves the others as they were.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.settings import GUEST_LAYER, SEALED
from measuring.clock import Clock
from measuring.record import machine, print_rows, write_results
from networks import encrypted_model, split_network
from networks.aggregation import NETWORKS, measure_aggregation
from networks.fate_form import measure_fate_form
from trees.columns import Say
from vertical.data import read_credit

SHOWN = ("what", "seconds", "cpu_s", "clear_seconds", "times_clear", "mb", "operations_s", "times_numpy", "met")
INTERRUPTED = 130

Rows = list[dict[str, Any]]
Parts = dict[str, Callable[[], Rows]]


def make_parts(say: Say) -> Parts:
    """By name, what measures the parts of networks.json."""
    return {
        "split-network": lambda: list(_split_networks(say)),
        "aggregation": lambda: [measure_aggregation(work, say) for work in NETWORKS],
        "encrypted-model": lambda: list(_encrypted_models(say)),
    }


def main() -> int:
    """All parts, or those that are named."""
    say = Clock()
    parts = make_parts(say)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", choices=[*parts, "accuracy", []], help="all without any; files are written of all only"
    )
    parser.add_argument("--data", type=Path, help="the folder with credit/, for accuracy")
    parser.add_argument("--no-write", action="store_true", help="print only")
    asked = parser.parse_args()
    names = asked.parts or [*parts, *(["accuracy"] if asked.data else [])]
    if "accuracy" in names and not asked.data:
        parser.error("accuracy needs --data FOLDER, with credit/")
    try:
        rows = [row for name, measure in parts.items() if name in names for row in measure()]
        print_rows(rows, SHOWN)
        if not asked.no_write and set(parts) <= set(names):
            print(write_results("networks", rows, versions={"torch": metadata.version("torch")}))
        if "accuracy" in names:
            scores = measure_accuracy(asked.data, say)
            print_rows(scores, ("what", "auc", "joined_auc", "below", "met"))
            if not asked.no_write:
                print(write_results("networks-accuracy", scores))
    except KeyboardInterrupt:
        print("\nstopped: what was not measured whole stays as it was in benchmarks/results", file=sys.stderr)
        return INTERRUPTED
    print(machine())
    return 0


def _split_networks(say: Say) -> Iterator[dict[str, Any]]:
    for bottom in split_network.TO_REACH:
        yield split_network.measure_split(bottom, say)
    yield split_network.measure_split("source", say, form=SEALED)
    yield split_network.measure_split("trained", say, form=GUEST_LAYER)
    shape, training = NetworkShape(), NetworkTraining()
    yield measure_fate_form(split_network.ROWS, training.batch_rows, shape.host_width, shape.units, split_network.SEED)


def measure_accuracy(folder: Path, say: Say) -> Rows:
    """AUC of held-out rows of UCI's credit data, means over seeds."""
    data, train_rows, test_rows = read_credit(folder / "credit")
    networks = [
        split_network.measure_auc(bottom, data, train_rows, test_rows, say) for bottom in split_network.TO_REACH
    ]
    networks.append(split_network.measure_auc("source", data, train_rows, test_rows, say, form=SEALED))
    return [*networks, encrypted_model.measure_auc(data, train_rows, test_rows, say)]


def _encrypted_models(say: Say) -> Iterator[dict[str, Any]]:
    ours = encrypted_model.measure_encrypted_model("lattice", say)
    yield ours
    yield encrypted_model.measure_encrypted_model("paillier", say)
    yield encrypted_model.measure_peer(ours, say)


if __name__ == "__main__":
    sys.exit(main())
