"""The first day with own data, as figures: CSV files to a model, a million rows, a job of two hundred parties.

Every command is called as a user calls it, and its time holds its start and all that it reads and writes. Parts that
are named are measured and printed alone; without any, all are, and benchmarks/results keeps them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from first_day.made_day import measure_made_day
from first_day.many_parties import measure_many_parties
from first_day.million_rows import measure_million_rows
from measuring.record import machine, print_rows, write_results

NAME = "first-day"
PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "day": measure_made_day,
    "million": measure_million_rows,
    "many": measure_many_parties,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}: print these only")
    options = parser.parse_args()
    if unknown := set(options.parts).difference(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    print(machine())
    rows = []
    for part in options.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(PARTS[part](Path(folder)))
        print_rows([{name: value for name, value in rows[-1].items() if not isinstance(value, dict)}])
    if not options.parts:
        print(write_results(NAME, rows))


if __name__ == "__main__":
    main()
