"""Sums in the clear, for a comparison on public data: the same messages and the same integers as under encryption."""

from __future__ import annotations

from typing import Any

import numpy as np

from hekat.errors import ProtocolError
from hekat.protocol.vertical_trees.arithmetic.interface import Digits, Exchange, IntArray, Ranges, finished_nodes

ROWS_AT_ONCE = 1 << 16


class PlainGuest:
    """The guest's half without a key."""

    def begin_level(self, exchange: Exchange, values: IntArray) -> bytes:
        self._exchange, self._values = exchange, values
        return b""

    def cuts(self, exchange: Exchange) -> list[tuple[int, int]]:
        return _cuts(exchange)

    def block(self, cut: tuple[int, int]) -> bytes:
        return self._values[slice(*cut)].astype(_dtype_of(self._exchange.ranges, 1)).tobytes()

    def open(self, first: int, bin_counts: IntArray, data: bytes, sender: str) -> IntArray:
        exchange = self._exchange
        kind = _dtype_of(exchange.ranges, exchange.most_rows)
        sums = _read(data, kind, int(bin_counts.sum()), len(exchange.ranges), sender)
        rows = np.repeat(exchange.row_counts[first : first + bin_counts.size], bin_counts)[:, np.newaxis]
        low, high = np.array(exchange.ranges, np.int64).T
        _check_range(sums, low * rows, high * rows, sender)
        return sums


class PlainHost:
    """A host's half without a key."""

    def working_bytes(self, exchange: Exchange, bin_counts: IntArray, sender: str) -> int:
        """Sums so far, sums of a block beside them, and what is sent."""
        return 3 * int(bin_counts.sum()) * len(exchange.ranges) * np.dtype(np.int64).itemsize

    def cuts(self, exchange: Exchange) -> list[tuple[int, int]]:
        return _cuts(exchange)

    def begin_level(self, exchange: Exchange, key: bytes, bin_counts: IntArray, sender: str) -> None:
        if key:
            raise ProtocolError(
                f"{sender} sent a key where nothing is encrypted", expected="no key", got=f"{len(key)} bytes"
            )
        self._exchange = exchange
        self._offsets = np.concatenate([[0], np.cumsum(bin_counts)])
        self._sums = np.zeros((int(self._offsets[-1]), len(exchange.ranges)), np.int64)
        cuts = _cuts(exchange)
        self._blocks = list(zip(cuts, finished_nodes(exchange, cuts), strict=True))[::-1]

    def answer(self, block: bytes, digits: Digits, sender: str) -> bytes:
        exchange = self._exchange
        (start, end), (first, last) = self._blocks.pop()
        values = _read(block, _dtype_of(exchange.ranges, 1), end - start, len(exchange.ranges), sender)
        low, high = np.array(exchange.ranges, np.int64).T
        _check_range(values, low, high, sender)
        node = np.searchsorted(exchange.starts[1:], np.arange(start, end), side="right")
        offsets = self._offsets[node]
        for column in digits:
            has_bin = column >= 0
            places = column[has_bin] + offsets[has_bin]
            for component in range(values.shape[1]):
                weights = values[has_bin, component].astype(np.float64)
                # Exact: sums of a block stay far below 2^53.
                self._sums[:, component] += np.bincount(places, weights, len(self._sums)).astype(np.int64)
        done = self._sums[self._offsets[first] : self._offsets[last]]
        return done.astype(_dtype_of(exchange.ranges, exchange.most_rows)).tobytes()


def _cuts(exchange: Exchange) -> list[tuple[int, int]]:
    count = exchange.rows.size
    return [(start, min(count, start + ROWS_AT_ONCE)) for start in range(0, count, ROWS_AT_ONCE)] or [(0, 0)]


def _dtype_of(ranges: Ranges, rows: int) -> np.dtype[Any]:
    """The narrowest integers that hold sums of so many rows."""
    low, high = min(low for low, _ in ranges) * rows, max(high for _, high in ranges) * rows
    for kind in ("i1", "<i2", "<i4"):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return np.dtype(kind)
    return np.dtype("<i8")


def _read(data: bytes, kind: np.dtype[Any], count: int, width: int, sender: str) -> IntArray:
    expected = count * width * kind.itemsize
    if len(data) != expected:
        raise ProtocolError(
            f"{sender} sent another number of integers",
            expected=f"{expected} bytes for {count:,} times {width}",
            got=f"{len(data)} bytes",
            cure="all parties must run the same job and release, on the same rows",
        )
    return np.frombuffer(data, kind).astype(np.int64).reshape(count, width)


def _check_range(values: IntArray, low: IntArray, high: IntArray, sender: str) -> None:
    if ((values < low) | (values > high)).any():
        raise ProtocolError(
            f"{sender} sent integers that cannot be",
            expected="sums within the rows of their node times the range of one row",
            got="one beyond it",
            cure="find out what runs there: this release does not send such numbers",
        )
