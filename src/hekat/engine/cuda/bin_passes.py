"""How `ring_bin_sums` is cut into passes whose plaintexts fit in memory together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_GROUPS = 64


@dataclass(frozen=True)
class BinPass:
    """One segment's rows first_row to end_row - 1 in some groups, and some windows; `adds` to the passes before."""

    segment: int
    first_row: int
    end_row: int
    first_group: int
    group_count: int
    first_window: int
    window_count: int
    adds: bool

    @property
    def plaintext_count(self) -> int:
        """Plaintexts, window after window."""
        return self.window_count * self.group_count


def bin_passes(
    starts: Sequence[int], group_rows: int, window_count: int, most_plaintexts: int, most_groups: int = MOST_GROUPS
) -> Iterator[BinPass]:
    """The passes of all segments, each of at most `most_plaintexts` plaintexts.

    A segment without rows has passes of no groups: its sums have to be written too.
    """
    most_groups = max(1, min(most_groups, most_plaintexts))
    for segment, (first_row, end_row) in enumerate(pairwise(starts)):
        first, end = first_row // group_rows, -(-end_row // group_rows) if first_row < end_row else 0
        for group in range(first, max(end, first + 1), most_groups):
            groups = max(0, min(most_groups, end - group))
            most_windows = max(1, most_plaintexts // max(groups, 1))
            for window in range(0, window_count, most_windows):
                windows = min(most_windows, window_count - window)
                yield BinPass(segment, first_row, end_row, group, groups, window, windows, group > first)
