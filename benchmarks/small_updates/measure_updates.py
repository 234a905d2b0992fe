"""Updates that are smaller than the model: FedML-HE's Table 6 with real models, and the ways to agree on what is sent.

    table 6     a ResNet-18 and a BERT of the paper's sizes: bytes up and down, processor seconds of a round
    agreement   MNIST and UCI's credit data, five parties of different rows: loss and accuracy by share and by way

Everything goes through `hekat.federate` under protection `lattice`, all roles in one process, and is checked before it
counts. Table 6 needs the extra `lora`, 6 GB of memory and about three minutes; the agreement takes a folder with
images/ and credit/, and about twenty minutes.

    PYTHONPATH=benchmarks python -m small_updates.measure_updates --data FOLDER
"""

from __future__ import annotations

import argparse
import sys
from importlib import metadata
from pathlib import Path

from measuring.record import machine, print_rows, write_results
from small_updates.agreement import measure_agreement
from small_updates.table_6 import measure_table_6

SHOWN = ("model", "way", "sent_values", "up_bytes", "down_bytes", "round_cpu_s", "largest_error")
SHOWN_OF_AGREEMENT = ("data", "keep", "way", "loss", "accuracy", "up_bytes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small models and one seed; print only")
    parser.add_argument("--data", type=Path, help="the folder with images/ and credit/, for the agreement")
    parser.add_argument("--no-write", action="store_true", help="print only")
    asked = parser.parse_args()
    keeps = not (asked.no_write or asked.quick)
    rows = list(measure_table_6(print, small=asked.quick))
    print_rows(rows, SHOWN)
    if keeps:
        versions = {name: metadata.version(name) for name in ("torch", "transformers", "peft")}
        print(write_results("small-updates", rows, versions=versions))
    if asked.data:
        found = list(measure_agreement(asked.data, print, seeds=1 if asked.quick else 3))
        print_rows(found, SHOWN_OF_AGREEMENT)
        if keeps:
            print(write_results("small-updates-agreement", found))
    print(machine())
    return 0


if __name__ == "__main__":
    sys.exit(main())
