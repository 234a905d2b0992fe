"""What every benchmark shares: the machine and versions in words, median times, results kept as JSON."""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"
PACKAGES = ("hekat", "numpy", "gmpy2", "cryptography", "phe", "tenseal")


def machine() -> dict[str, str]:
    """CPU, cores, memory, system, and the versions of Python, compiler and packages."""
    from hekat import _native

    found = {
        "cpu": _cpu_model(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "compiler": _native.compiler,
    }
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def median_s(function: Callable[[], object], repeats: int = 5) -> float:
    """Median seconds of `repeats` calls, after one that is not counted."""
    function()
    return statistics.median(_time_s(function) for _ in range(repeats))


@dataclass(frozen=True)
class Comparison:
    """Two functions timed in turns: median seconds of each, and of the turns' ratios second / first."""

    first_s: float
    second_s: float
    ratio: float
    best_ratio: float


def compare(first: Callable[[], object], second: Callable[[], object], repeats: int = 5) -> Comparison:
    """Wall time of both in turns after one that is not counted: what else the machine does meets both alike."""
    pairs = [(_time_s(first), _time_s(second)) for _ in range(repeats + 1)][1:]
    ratios = [b / a for a, b in pairs]
    return Comparison(
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(ratios),
        max(ratios),
    )


def write_results(name: str, rows: Sequence[dict[str, Any]], **extra: Any) -> Path:
    """Writes benchmarks/results/`name`.json: date, machine, rows, and anything in `extra`. Returns the path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        **extra,
        "rows": list(rows),
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def print_rows(rows: Sequence[dict[str, Any]], columns: Sequence[str] | None = None) -> None:
    """A table on standard output, one line a row, columns (the first row's if None) as wide as they need to be."""
    if not rows:
        return
    columns = list(columns or rows[0])
    cells = [columns] + [[_cell(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        print(
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
        )


def _time_s(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f"{fields.get('model name', 'unknown')} (family {fields.get('cpu family')}, model {fields.get('model')})"
