"""Sums of encrypted rows by segments and bins, block by block: rows lie in the order of their segments."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hekat.engine.interface import IndexArray
from hekat.engine.ring.interface import LevelArray, RingArray, RingEngine
from hekat.engine.ring.parameters import Ring
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bin_sums.keys import PublicKey
from hekat.scheme.bin_sums.layout import SumLayout
from hekat.scheme.bin_sums.rows import EncryptedRows, check_layout


@dataclass(frozen=True)
class BinSums:
    """Sums of the segments from `first_segment` on, each with `bin_counts` bins; secret of the host, who conceals them.

    `c1` (segments, windows, primes, N) is transformed; `c0` (segments, windows, C, primes, W) has the first
    coefficients of every component. Windows beyond a segment's bins hold nothing.
    """

    key: PublicKey
    first_segment: int
    bin_counts: IndexArray
    c1: RingArray = field(repr=False)
    c0: RingArray = field(repr=False)

    @property
    def segments(self) -> range:
        return range(self.first_segment, self.first_segment + len(self.bin_counts))


class BinSummer:
    """Adds the blocks of one exchange up; segments that are complete leave it.

    `starts` (S + 1,): segment s holds rows starts[s] .. starts[s + 1] - 1 of the exchange, none where both are equal;
    `bin_counts` (S,): the bins of each segment, digits 0 .. bin_counts[s] - 1. Raises InputError for other arrays.
    """

    def __init__(
        self,
        key: PublicKey,
        layout: SumLayout,
        starts: IndexArray,
        bin_counts: IndexArray,
        engine: RingEngine | None = None,
    ) -> None:
        check_layout(key, layout)
        if starts.ndim != 1 or bin_counts.shape != (len(starts) - 1,) or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise InputError(
                "segments refused", expected="starts from 0 that do not fall, and as many counts of bins", got="others"
            )
        if bin_counts.size and (int(bin_counts.min()) < 0 or int(np.diff(starts).max()) > layout.rows):
            raise InputError(
                "segments refused", expected=f"0 or more bins, at most {layout.rows:,} rows each", got="others"
            )
        self._key, self._layout, self._engine = key, layout, engine or get_engine()
        self._starts, self._bin_counts = starts.astype(np.int64), bin_counts.astype(np.int64)
        self._windows = layout.windows(self._bin_counts)
        # Rows so far, segments that have left, and the sums so far of the first that has not.
        self._row, self._segment = 0, 0
        self._open: tuple[RingArray, RingArray] | None = None

    @property
    def rows_missing(self) -> int:
        """Rows that have not come yet."""
        return int(self._starts[-1]) - self._row

    def add(self, block: EncryptedRows, digits: LevelArray) -> BinSums:
        """The sums of all segments that this block completes, perhaps of none.

        `digits` int32 (M, rows of the block): M digits of every row, distinct in a row, -1 for none. Raises InputError
        for a block that does not follow the last one and for digits beyond a segment's bins, KeyRefusedError for
        another key's block.
        """
        last = self._row + block.row_count
        self._check(block, digits, last)
        done = int(np.searchsorted(self._starts[1:], last, "right"))
        upto = max(done, int(np.searchsorted(self._starts[:-1], last, "left")))
        starts = np.clip(self._starts[self._segment : upto + 1], self._row, last) - self._row
        c1, c0 = self._sum(block, digits, starts, upto)
        first, self._row, self._segment = self._segment, last, done
        self._open = None
        if upto > done:
            own = slice(int(self._windows[done]))
            self._open = c1[done - first, own], c0[done - first, own]
            if done > first:
                # The sums that leave would keep all of this memory.
                self._open = self._open[0].copy(), self._open[1].copy()
        return BinSums(self._key, first, self._bin_counts[first:done], c1[: done - first], c0[: done - first])

    def _sum(
        self, block: EncryptedRows, digits: LevelArray, starts: IndexArray, upto: int
    ) -> tuple[RingArray, RingArray]:
        ring, layout, engine = self._layout.parameters.ring, self._layout, self._engine
        windows = int(self._windows[self._segment : upto].max(initial=0))
        if not windows:
            shape = len(starts) - 1, 0
            first = np.zeros((*shape, layout.components, len(ring.primes), layout.window), np.uint64)
            return np.zeros((*shape, *ring.element_shape), np.uint64), first
        c1 = engine.ring_bin_sums(ring, block.second_halves(engine), digits, layout.window, windows, starts)[:, :, 0]
        c0 = engine.ring_window_sums(ring, block.c0, digits, layout.window, windows, starts)
        if self._open is not None and len(self._open[0]):
            for sums, before in zip((c1, c0), self._open, strict=True):
                _add_onto(ring, sums[0, : len(before)], before)
        return c1, c0

    def _check(self, block: EncryptedRows, digits: LevelArray, last: int) -> None:
        if block.key != self._key:
            raise KeyRefusedError(
                "encrypted rows are under another key",
                expected=f"key {self._key.fingerprint}",
                got=f"key {block.key.fingerprint}",
                cure="take rows and key of one tree",
            )
        whole = block.row_count % self._layout.rows_per_group == 0
        if block.layout != self._layout or last > self._starts[-1] or (last < self._starts[-1] and not whole):
            raise InputError(
                "a block of rows does not follow the last one",
                expected=f"whole groups, or the {self.rows_missing:,} rows that are missing",
                got=f"{block.row_count:,} rows",
            )
        if digits.dtype != np.int32 or digits.ndim != 2 or digits.shape[1] != block.row_count:
            raise InputError(
                "digits do not fit their rows",
                expected=f"int32, shape (digits, {block.row_count})",
                got=f"{digits.dtype}, shape {digits.shape}",
            )
        within = np.clip(self._starts, self._row, last)
        limits = np.repeat(self._bin_counts, within[1:] - within[:-1])
        if digits.size and (int(digits.min()) < -1 or (digits >= limits).any()):
            raise InputError(
                "digits do not fit their rows", expected="-1, or below the bins of a segment", got="others"
            )


def _add_onto(ring: Ring, sums: RingArray, others: RingArray) -> None:
    """sums (windows, ..., primes, coefficients) + others, in place, one window in the cache after the other."""
    primes = np.array(ring.primes, np.uint64)[:, np.newaxis]
    for x, y in zip(sums, others, strict=True):
        x += y
        # A sum below its prime is less than what wraps around below it.
        np.minimum(x, x - primes, out=x)
