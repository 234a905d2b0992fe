"""Trains BatchCrypt's three models over nine parties, plain, with lattice and with Paillier, and the credit tables.

    PYTHONPATH=benchmarks python -m training.train_papers --data FOLDER [--only mlp cnn lstm credit] [--quick]

FOLDER holds images/, shakespeare/ and credit/. Every finished run is written to results/training-NAME.json at once, so
an interrupted measurement keeps what it has. Paillier's exact sums equal the lattice's: it is run for a few rounds,
local training cut short, its model is held against the lattice's bit for bit, and its time is the exchange's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from measuring.record import write_results
from training.credit import measure_credit
from training.experiment import Curve, train_federated
from training.models import value_count
from training.workloads import WORKLOADS, Workload

BITS = (8, 16, 32)
QUICK_ROWS = 3000
PAILLIER_BATCHES = 1


def main() -> None:
    """Measure what is asked for; every workload has a file of its own."""
    arguments = _read_arguments()
    for name in arguments.only:
        conditions: dict[str, object] = {"torch": torch.__version__, "threads": torch.get_num_threads()}
        if name == "credit":
            runs = measure_credit(arguments.data)
        else:
            workload = WORKLOADS[name](arguments.data)
            workload = _cut(workload) if arguments.quick else workload
            runs, conditions = _run_workload(workload), conditions | workload.conditions
        rows: list[dict[str, Any]] = []
        for row in runs:
            rows.append(row)
            if not arguments.quick:
                write_results(f"training-{name}", rows, **conditions)
        if arguments.quick:
            print(json.dumps(rows, indent=1))


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with images/, shakespeare/ and credit/")
    names = [*WORKLOADS, "credit"]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="parts to measure")
    parser.add_argument("--quick", action="store_true", help="few rows and rounds; prints, writes nothing")
    return parser.parse_args()


def _run_workload(workload: Workload) -> Iterator[dict[str, Any]]:
    # What is set up once, by PyTorch too, is set up by this one.
    train_federated(workload, "none", None, "fedsgd", rounds=1)
    for algorithm, rounds in (("fedavg", workload.rounds), ("fedsgd", workload.fedsgd_rounds)):
        tried: dict[int | None, list[Curve]] = {
            bits: [] for bits in (None, *(BITS if algorithm == "fedavg" else (16,)))
        }
        for turn in range(workload.turns):
            for bits, curves in tried.items():
                protection = "none" if bits is None else "lattice"
                curves.append(train_federated(workload, protection, bits, algorithm, rounds=rounds, progress=print))
                if turn == workload.turns - 1:
                    plain = _typical(tried[None])
                    yield _row(workload, _typical(curves), plain)
                    if algorithm == "fedsgd":
                        continue  # Paillier exchanges what fedavg does
                    if bits in workload.paillier_bits:
                        yield _row(workload, _run_paillier(workload, bits, algorithm), plain)
                    elif bits is None and rounds > 1:
                        settings = {"rounds": rounds, "is_nudged": True, "progress": print}
                        yield _row(workload, train_federated(workload, "none", None, algorithm, **settings), plain)


def _typical(curves: list[Curve]) -> Curve:
    """The run of the median time, of an odd number of turns, which all must have come to the same models."""
    if any(curve.digests != curves[0].digests for curve in curves):
        raise SystemExit("the same run came to another model when it was repeated: not measured")
    return sorted(curves, key=lambda curve: sum(curve.round_s))[len(curves) // 2]


def _run_paillier(workload: Workload, bits: int, algorithm: str) -> Curve:
    """A few rounds with little training, whose model must equal the lattice's after the same rounds."""
    settings = {"rounds": workload.paillier_rounds, "most_batches": PAILLIER_BATCHES}
    paillier = train_federated(workload, "paillier", bits, algorithm, progress=print, **settings)
    lattice = train_federated(workload, "lattice", bits, algorithm, progress=print, **settings)
    if paillier.digests != lattice.digests:
        raise SystemExit(f"Paillier and lattice sums differ for {workload.name} at {bits} bits: not measured")
    return paillier


def _row(workload: Workload, curve: Curve, plain: Curve) -> dict[str, Any]:
    """One run beside the plain one: ratios of whole runs, differences of the last round.

    `times_plain_by_exchange` puts this run's exchange in place of the plain run's own, since training is the same work
    in both; of Paillier, whose runs are cut short, as many median rounds.
    """
    is_whole = len(curve.round_s) == len(plain.round_s) and curve.protection != "paillier"
    exchange_s = curve.exchange_s if is_whole else curve.median_exchange_s * len(plain.round_s)
    return {
        "name": workload.name,
        "values": value_count(workload.make_model()),
        "parties": workload.party_count,
        "median_round_s": curve.median_round_s if is_whole else None,
        "median_exchange_s": curve.median_exchange_s,
        "times_plain": sum(curve.round_s) / sum(plain.round_s) if is_whole else None,
        "times_plain_by_exchange": (sum(plain.train_s) + exchange_s) / sum(plain.round_s),
        "exchange_over_training": exchange_s / sum(plain.train_s),
        "convergence_bias": abs(curve.train_loss[-1] / plain.train_loss[-1] - 1) if is_whole else None,
        "accuracy_points": 100 * (curve.accuracy[-1] - plain.accuracy[-1]) if is_whole else None,
        **asdict(curve),
    }


def _cut(workload: Workload) -> Workload:
    split = workload.split
    few = replace(split, train_inputs=split.train_inputs[:QUICK_ROWS], train_labels=split.train_labels[:QUICK_ROWS])
    return replace(workload, split=few, rounds=2, fedsgd_rounds=2, paillier_rounds=1, turns=1)


if __name__ == "__main__":
    main()
