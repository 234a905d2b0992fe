"""The engine that holds each residue of an array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import IndexArray

# Batches run in chunks of about so many items (hekat.scheme.chunks), so each chunk is divided among all engines.
STRETCH: Final = 4096


def partition_range(count: int, shares: Sequence[float]) -> list[tuple[int, int]]:
    """Where the run of each engine begins and ends, in range(count) divided by `shares`, which add up to 1."""
    return list(pairwise(round(share * count) for share in accumulate(shares, initial=0.0)))


class Partition:
    """The number of an owner for each residue of an array in C order.

    An engine keeps its residues in that order. Any ownership is possible: residues that are taken from an array,
    reshaped or joined stay where they lie. Immutable.
    """

    def __init__(self, owners: npt.NDArray[np.uint8]) -> None:
        self.owners = owners

    @classmethod
    def whole(cls, count: int, owner: int) -> Partition:
        """All `count` residues in one engine."""
        return cls(np.full(count, owner, np.uint8))

    @classmethod
    def by_shares(cls, count: int, shares: Sequence[float]) -> Partition:
        """Every stretch of an array divided by `shares`, which add up to 1, in the order of the engines."""
        partition = cls(np.empty(count, np.uint8))
        for start in range(0, count, STRETCH):
            stretch = partition.owners[start : start + STRETCH]
            for owner, (first, end) in enumerate(partition_range(stretch.size, shares)):
                stretch[first:end] = owner
        return partition

    @property
    def size(self) -> int:
        """Residues of all engines together."""
        return self.owners.size

    @cached_property
    def counts(self) -> dict[int, int]:
        """Residues of each engine that has any; an empty array lies, with none, in the first engine."""
        counts = np.bincount(self.owners)
        return {int(owner): int(counts[owner]) for owner in np.flatnonzero(counts)} or {0: 0}

    @property
    def is_whole(self) -> bool:
        """Whether all residues lie in one engine."""
        return len(self.counts) == 1

    @cached_property
    def ranks(self) -> IndexArray:
        """For each residue its number among its owner's residues."""
        ranks = np.zeros(self.size, np.int64)
        for owner, count in self.counts.items():
            ranks[self.owners == owner] = np.arange(count, dtype=np.int64)
        return ranks

    def positions(self, owner: int) -> IndexArray:
        """Where the residues of `owner` stand in the array, ascending."""
        found = self._positions.get(owner)
        if found is None:
            found = self._positions[owner] = np.flatnonzero(self.owners == owner).astype(np.int64, copy=False)
        return found

    @cached_property
    def _positions(self) -> dict[int, IndexArray]:
        return {}

    def is_like(self, other: Partition) -> bool:
        """Whether both give every residue the same owner."""
        return self is other or np.array_equal(self.owners, other.owners)
