"""Jobs at their defaults against scikit-learn at its defaults: is the score within 0.01 on every data set?

Each job is encrypted, names no algorithm, no rate and no number of rounds, and reads CSV files. scikit-learn gets all
training rows in one table, standardised, as LogisticRegression or LinearRegression. Both are scored on the same quarter
of the rows, which neither saw. With --vertical, estimators whose two parties hold half of the columns each take the
place of the jobs. With --mlp, jobs and scikit-learn train networks with one hidden layer of its default width. Exits
with 1 where a score is further below scikit-learn's than ALLOWED, or with --vertical the log-loss of two classes
further above it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from defaults.data_sets import data_sets
from defaults.horizontal_jobs import measure_default_job
from defaults.vertical_models import PARTIES, measure_default_model
from hekat.scheme.paillier import generate_keys
from measuring.record import print_rows, write_results

ALLOWED = 0.01
# Gradients by residuals of so many columns at two parties take an hour.
LEFT_OUT = ("made: 300 columns",)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with credit/ and a9a/; without it these two are left out")
    parser.add_argument("--vertical", action="store_true", help="columns at two parties instead of rows at several")
    parser.add_argument("--mlp", action="store_true", help="networks with one hidden layer, of parties with rows")
    parser.add_argument("--protection", choices=("lattice", "none"), default="lattice", help="of jobs")
    parser.add_argument("--only", help="the data sets whose names hold this")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    rows = []
    keys = {party: generate_keys(2048) for party in PARTIES} if options.vertical else {}
    for data in data_sets(options.data):
        if (options.vertical and data.name in LEFT_OUT) or (options.only or "") not in data.name:
            continue
        with tempfile.TemporaryDirectory() as place:
            if options.vertical:
                rows.append(measure_default_model(data, keys))
            else:
                kinds = {"is_network": options.mlp, "protection": options.protection}
                rows.append(measure_default_job(data, Path(place), **kinds))
        print(f"{data.name}: {rows[-1]['hekat']:.4f}, scikit-learn {rows[-1]['scikit_learn']:.4f}", flush=True)
    print_rows([{name: value for name, value in row.items() if not isinstance(value, dict)} for row in rows])
    if not options.no_write:
        print(write_results(_file_of(options), rows, allowed=ALLOWED))
    return 0 if all(row["difference"] >= -ALLOWED and _is_calibrated(row) for row in rows) else 1


def _is_calibrated(row: dict[str, Any]) -> bool:
    """Whether the log-loss of a vertical model of two classes is as near to scikit-learn's as scores have to be."""
    if row.get("classes") != 2:
        return True
    return bool(row["metrics"]["log_loss"] - row["scikit_learn_metrics"]["log_loss"] <= ALLOWED)


def _file_of(options: argparse.Namespace) -> str:
    if options.vertical:
        return "defaults-vertical"
    return "defaults-mlp" if options.mlp else "defaults-horizontal"


if __name__ == "__main__":
    sys.exit(main())
