"""Where each party's columns stand among the weights of three parties or more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Places:
    """The intercept is 0; then come the columns of the first holder, of the second, and of quiet parties in order."""

    ranges: Mapping[str, slice]

    @classmethod
    def of(cls, holders: Iterable[str], quiet_parties: Iterable[str], column_counts: Mapping[str, int]) -> Places:
        start, ranges = 1, {}
        for party in (*holders, *quiet_parties):
            ranges[party] = slice(start, start + column_counts[party])
            start += column_counts[party]
        return cls(ranges)

    @property
    def size(self) -> int:
        """How many weights one target has, the intercept among them."""
        return max(int(place.stop) for place in self.ranges.values())
