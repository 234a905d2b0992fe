"""FedML-HE's evaluation with Hekat: its Table 3, Table 4 and Fig. 11, plain, by the lattice scheme and by CKKS.

    table 3   13 models of 101 to 109,482,240 values, 3 clients: one client's encrypt and decrypt, the server's sum,
              bytes up and down, the process' peak of memory
    table 4   CKKS by values in a ciphertext and bits of the scale, the CNN: time, bytes, largest error
    figure 11 3 to 200 clients, the CNN: by step

Each row is measured in a process of its own on one core, in processor time, medians over its turns; results are checked
before they count. CKKS with FedML-HE's parameters over SEAL, from floats to Hekat's bytes and back, through
block by block; its results stay with the holders of the key, as in the paper. The authors' figures stand beside, from
their machine and library. Ctrl-C keeps the rows so far.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from measuring.record import machine, print_rows, write_results
from training.fedml_he_models import CNN, MODELS, Task, measure, turns_for

SCHEMES = ("plain", "lattice", "ckks")
BATCHES = (1024, 2048, 4096)
SCALE_BITS = (14, 20, 33, 40, 52)
CLIENTS = (3, 10, 50, 100, 200)
QUICK_VALUES = 100_000
QUICK_CLIENTS = (3, 10, 50)
TURNS = 5

Plan = tuple[str, Task, dict[str, Any]]


def plan(quick: bool, turns: int, largest: int, schemes: tuple[str, ...]) -> Iterator[Plan]:
    """What is measured, in order: the table it belongs to, the task, what stands beside it in the row."""
    for model in MODELS:
        if model.values <= (QUICK_VALUES if quick else largest):
            for scheme in schemes:
                beside = {"model": model.name} | {k: v for k, v in asdict(model).items() if k.startswith("paper_")}
                yield "table_3", Task(scheme, model.values, turns=turns_for(model.values, turns)), beside
    size = QUICK_VALUES if quick else CNN.values
    if "ckks" in schemes:
        for batch in BATCHES:
            for bits in SCALE_BITS:
                task = Task("ckks", size, turns=turns_for(size, turns), scale_bits=bits, batch=batch)
                yield "table_4", task, {"batch": batch, "scale_bits": bits}
    for clients in QUICK_CLIENTS if quick else CLIENTS:
        for scheme in schemes:
            yield "figure_11", Task(scheme, size, clients, turns_for(size * clients, turns)), {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help=f"models and sweeps of at most {QUICK_VALUES} values; print only"
    )
    parser.add_argument("--turns", type=int, default=TURNS, help="at most; fewer for large models")
    parser.add_argument("--largest", type=int, default=MODELS[-1].values, help="leave out larger models of table 3")
    parser.add_argument("--schemes", nargs="*", default=list(SCHEMES), choices=SCHEMES)
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    planned = list(plan(options.quick, options.turns, options.largest, tuple(options.schemes)))
    found: dict[str, list[dict[str, Any]]] = {"table_3": [], "table_4": [], "figure_11": []}
    started, complete = time.monotonic(), False
    try:
        for number, (table, task, beside) in enumerate(planned, 1):
            row = beside | measure(task)
            found[table].append(row)
            told = row.get("missing") or f"{row['total_s']:.4g} s"
            passed = time.monotonic() - started
            print(f"[{number}/{len(planned)}, {passed:.0f} s] {table} {task.scheme} {task.values}: {told}", flush=True)
        complete = True
    except KeyboardInterrupt:
        print("interrupted: the rows so far are kept")
    for table, rows in found.items():
        print(f"\n{table}")
        print_rows([{k: v for k, v in row.items() if not isinstance(v, dict) and "paper" not in k} for row in rows])
    print(machine())
    if not (options.no_write or options.quick) and any(found.values()):
        rows = found.pop("table_3")
        print(write_results("fedml_he", rows, complete=complete, **found))


if __name__ == "__main__":
    main()
