"""Discrete Gaussian noise as the native engine draws it, beside NumPy's rounded normal numbers, which are not exact.

Processor time of one thread, on every path of this processor, in turns. Run it in benchmarks/: python -m
privacy.bench_noise.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from statistics import median
from typing import Any

import numpy as np

from hekat.engine.cpu import CpuEngine, usable_paths
from hekat.engine.ring.gaussian import DiscreteGaussian
from measuring.record import machine, print_rows, write_results

KEY = bytes(range(32))
COUNT = 1 << 20
# The least s of noise, and around a doubling of a usual one: the shortest table and the longest.
DEVIATIONS = (Fraction(4), Fraction(1023), Fraction(1024))


def measure_noise(engine: CpuEngine, repeats: int) -> list[dict[str, Any]]:
    """Rows of processor time, medians of `repeats` turns; `times_numpy`: NumPy's time over it, by turn."""
    return [_measure(engine, deviation, repeats) for deviation in DEVIATIONS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    # Rings have no kernels of their own for path x86.
    paths = [path for path in usable_paths()[::-1] if path != "x86"]
    rows = [row for path in paths for row in measure_noise(CpuEngine(1, path=path), options.repeats)]
    print_rows(rows)
    print(machine())
    if not options.no_write:
        print(write_results("noise", rows))


def _measure(engine: CpuEngine, deviation: Fraction, repeats: int) -> dict[str, Any]:
    law, generator = DiscreteGaussian.of_at_least(deviation**2), np.random.default_rng(1)

    def draw() -> object:
        return engine.sample_discrete_gaussian(KEY, 0, COUNT, law)

    def draw_rounded() -> object:
        return np.rint(generator.normal(0, float(deviation), COUNT)).astype(np.int64)

    numbers = engine.sample_discrete_gaussian(KEY, 0, COUNT, law).astype(np.float64)
    if abs((numbers**2).mean() / float(law.variance) - 1) > 7 * sqrt(2 / COUNT) or abs(numbers).max() > law.limit:
        raise SystemExit(f"noise of s = {deviation} has another variance")
    turns = [(_cpu_s(draw), _cpu_s(draw_rounded)) for _ in range(repeats)]
    seconds = median(one for one, _ in turns)
    return {
        "path": engine.path,
        "operation": "sample_discrete_gaussian",
        "what": f"{COUNT:,} numbers, s = {deviation}",
        "ms": round(seconds * 1e3, 2),
        "millions_a_second": round(COUNT / seconds / 1e6, 1),
        "times_numpy": round(median(other / one for one, other in turns), 2),
    }


def _cpu_s(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


if __name__ == "__main__":
    main()
