"""How a party finds the rows that all parties have, in one order, before it trains on them or predicts for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.psi.common_rows import INTERSECTION, common_rows_of
from hekat.protocol.psi.rows import Positions
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.hold_out import hold_out_rows

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Matching:
    """How a party finds the rows that all parties have; `intersection` None: rows are aligned, row by row.

    `stopwatch` adds up what the party computes; `phases` adds up the whole time of each phase, waiting included.
    `progress(what, done, total)` is called some times a second while the intersection computes.
    """

    intersection: IntersectionSettings | None
    stopwatch: Stopwatch
    phases: Stopwatch = field(default_factory=Stopwatch)
    progress: Callable[[str, int, int], None] | None = None


@dataclass(frozen=True)
class MatchedTable:
    """A party's rows that all parties have, in the order common to all.

    `positions` (rows,) are their numbers in the party's own table; None: all of them, in their order. `seconds` is how
    long matching took, waiting included. Where rows are held out, `table` has the others, and `held_out` those.
    """

    table: Table = field(repr=False)
    positions: Positions | None = field(repr=False)
    seconds: float
    held_out: Table | None = field(default=None, repr=False)

    @property
    def common_count(self) -> int:
        """How many rows all parties have."""
        return len(self.table) + (0 if self.held_out is None else len(self.held_out))


@dataclass(frozen=True)
class Predicted:
    """The `scores` (rows, K) of the matched rows at a receiver; None elsewhere."""

    scores: FloatArray | None = field(repr=False)
    matched: MatchedTable


def match_rows(channel: RecordedChannel, table: Table, matching: Matching) -> MatchedTable:
    """Find the rows of `table` that all parties have. Raises as `common_rows_of`."""
    start = time.perf_counter()
    positions = None
    with matching.phases.measure(INTERSECTION):
        if matching.intersection is not None:
            positions = common_rows_of(channel, table, matching.intersection, matching.stopwatch, matching.progress)
            table = table.take(positions)
    return MatchedTable(table, positions, time.perf_counter() - start)


def match_training_rows(
    channel: RecordedChannel, table: Table, matching: Matching, hold_out: float, seed: int
) -> MatchedTable:
    """As `match_rows`, without the fraction `hold_out` of the common rows, which `held_out` has."""
    matched = match_rows(channel, table, matching)
    if not hold_out:
        return matched
    trained_on, held_out = hold_out_rows(matched.table, hold_out, seed)
    return replace(matched, table=trained_on, held_out=held_out)
