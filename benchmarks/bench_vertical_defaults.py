"""Vertical estimators at their defaults against scikit-learn at its defaults, on the data sets of `bench_defaults.py`.

Two parties hold half of the columns each; weights stay in shares, keys have 2048 bits. Scored on a quarter of the rows,
which neither saw. Exits with 1 where a score is further below scikit-learn's than ALLOWED: on data that a logistic
regression tells apart nearly without an error, the Taylor loss is expected to be.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from defaults.data_sets import data_sets
from defaults.vertical_models import PARTIES, measure_default_model
from hekat.scheme.paillier import generate_keys
from measuring.record import print_rows, write_results

ALLOWED = 0.01
# Gradients by residuals of so many columns take an hour.
LEFT_OUT = ("made: 300 columns",)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with credit/ and a9a/; without it these two are left out")
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    keys = {party: generate_keys(2048) for party in PARTIES}
    rows = []
    for data in data_sets(options.data):
        if data.name in LEFT_OUT or (options.only and data.name not in options.only):
            continue
        rows.append(measure_default_model(data, keys))
        print(f"{data.name}: {rows[-1]['hekat']:.4f}, scikit-learn {rows[-1]['scikit_learn']:.4f}", flush=True)
    print_rows([{name: value for name, value in row.items() if not isinstance(value, dict)} for row in rows])
    if not options.no_write:
        print(write_results("defaults-vertical", rows, allowed=ALLOWED))
    return 0 if all(row["difference"] >= -ALLOWED for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
