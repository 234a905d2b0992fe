"""The arithmetic of a level at guest and hosts: one interface for every protection; sums are the same integers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Digits = npt.NDArray[np.int32]
Ranges = tuple[tuple[int, int], ...]
"""For each component the least and the largest integer of one row."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """What guest and hosts know of one level's sums: the rows of each asked node, node by node, and what they are of.

    `level` is 0 at the root. `rows` (R,) are row numbers; node s has `rows[starts[s] : starts[s + 1]]`, and belongs to
    tree `trees[s]` of the iteration; at the root one node stands for all trees. `window` lays out encrypted gradients.
    """

    level: int
    rows: IntArray
    starts: IntArray
    ranges: Ranges
    window: int
    trees: IntArray

    @cached_property
    def row_counts(self) -> IntArray:
        """How many rows each asked node has."""
        return np.diff(self.starts)

    @property
    def most_rows(self) -> int:
        """The rows of the largest asked node, 1 at least."""
        return max(1, int(self.row_counts.max(initial=0)))


class GuestSide(Protocol):
    """The guest's half: it encrypts gradients and opens sums."""

    def begin_level(self, exchange: Exchange, values: IntArray) -> bytes:
        """Begin a level: `values` (R, C) are the integers of the rows of the exchange.

        Returns the public key that hosts need from now on, or nothing where they keep the last one, or need none.
        """
        ...

    def cuts(self, exchange: Exchange) -> list[tuple[int, int]]:
        """The first row and the end of each block of the level, one block at least; hosts find the same."""
        ...

    def block(self, cut: tuple[int, int]) -> bytes:
        """The gradients of the rows of a block of the level."""
        ...

    def open(self, first: int, bin_counts: IntArray, data: bytes, sender: str) -> IntArray:
        """The sums (sum of `bin_counts`, C) of the asked nodes `first` .. `first + len(bin_counts) - 1`.

        Raises WireError and ProtocolError, which names `sender`, for what cannot be an answer.
        """
        ...


class HostSide(Protocol):
    """A host's half: it adds up gradients that it cannot read."""

    def working_bytes(self, exchange: Exchange, bin_counts: IntArray, sender: str) -> int:
        """About how much memory the sums of a level and their answers take at most, before any of it is taken.

        Raises ProtocolError, which names `sender`, for an exchange that cannot be laid out.
        """
        ...

    def begin_level(self, exchange: Exchange, key: bytes, bin_counts: IntArray, sender: str) -> None:
        """Begin the sums of a level: node s has `bin_counts[s]` bins. `key` is what the guest's `begin_level` returned.

        Raises WireError and ProtocolError, which names `sender`, for a key that cannot be.
        """
        ...

    def cuts(self, exchange: Exchange) -> list[tuple[int, int]]:
        """As the guest's."""
        ...

    def answer(self, block: bytes, digits: Digits, sender: str) -> bytes:
        """Add the next block, whose rows have `digits` (columns, rows); answer for the nodes that are complete with it.

        A digit is the number of a bin in its node; -1: the row counts in no sum of the column.
        """
        ...


def finished_nodes(exchange: Exchange, cuts: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """For each block the first node and the end of the nodes that are complete with it and were not before."""
    first = 0
    for _, end in cuts:
        last = int(np.searchsorted(exchange.starts[1:], end, side="right"))
        yield first, last
        first = last
