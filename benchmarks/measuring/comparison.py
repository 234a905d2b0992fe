"""One operation beside its peers: timed in turns on one core, and held against the processor's limit."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hekat import _native
from measuring.hardware_limit import Work

REPEATS = 5


@dataclass(frozen=True)
class Call:
    """`run` works through `count` items."""

    count: int
    run: Callable[[], object]

    def us_per_item(self) -> float:
        """Microseconds of processor time an item: what the machine spends elsewhere is left out."""
        start = time.process_time()
        self.run()
        return (time.process_time() - start) / self.count * 1e6


def beside_peers(
    ours: Call, peers: Mapping[str, Call], work: Work | None = None, repeats: int = REPEATS
) -> dict[str, Any]:
    """The columns of a row: medians of `repeats` turns after one that is not counted.

    us, per_s       ours
    NAME_per_s      the peer's, for each of `peers`
    times_NAME      the peer's time over ours, in the same turn
    of_limit        the time `work` takes at the rate of vpmadd52 measured in the same turn, over our time; None
                    where the processor has no such instruction
    """
    turns = [_take_turn({"ours": ours, **peers}) for _ in range(repeats + 1)][1:]
    us = statistics.median(turn["ours"] for turn in turns)
    row: dict[str, Any] = {"us": _round(us), "per_s": _round(1e6 / us)}
    for name in peers:
        row[f"{name}_per_s"] = _round(1e6 / statistics.median(turn[name] for turn in turns))
        row[f"times_{name}"] = _round(statistics.median(turn[name] / turn["ours"] for turn in turns))
    if work is not None:
        row |= _held_against_limit(turns, work)
    return row


def _held_against_limit(turns: Sequence[Mapping[str, float]], work: Work) -> dict[str, Any]:
    rate = statistics.median(turn["madd52_per_ns"] for turn in turns)
    fractions = [work.madds / (1e3 * turn["ours"] * turn["madd52_per_ns"]) for turn in turns] if rate else []
    return {
        "of_limit": round(statistics.median(fractions), 3) if fractions else None,
        "madd52_per_ns": _round(rate),
        "work": work.formula,
    }


def _take_turn(calls: Mapping[str, Call]) -> dict[str, float]:
    found = {name: call.us_per_item() for name, call in calls.items()}
    found["madd52_per_ns"] = _native.madd52_per_ns()
    return found


def _round(value: float) -> float:
    return float(f"{value:.4g}")
