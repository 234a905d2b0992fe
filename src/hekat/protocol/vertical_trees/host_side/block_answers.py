"""A host's answers to one exchange: for each block of gradients, the sums of the nodes that are complete with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.data.number_text import count_of
from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_trees.arithmetic.interface import Digits, Exchange, HostSide, IntArray
from hekat.protocol.vertical_trees.host_side.sum_memory import SumMemory
from hekat.protocol.vertical_trees.messages import GRADIENTS, SumsMessage
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.steps import GRADIENTS_STEP, SUMS
from hekat.protocol.vertical_trees.timing_labels import SUMS as SUMS_LABEL


@dataclass(frozen=True)
class BlockAnswers:
    """What a host answers with: its half of the arithmetic, and `own_bins` (columns, rows), within `memory`."""

    channel: RecordedChannel
    settings: VerticalTreesSettings
    side: HostSide
    own_bins: npt.NDArray[np.uint8]
    stopwatch: Stopwatch
    memory: SumMemory

    def play(self, at: str, exchange: Exchange, key: bytes, tables: IntArray, bin_counts: IntArray) -> None:
        """Take the blocks of step `at`, and answer each.

        `tables` (nodes, columns, bins): the place of each own bin among the node's sums, -1 without one; `bin_counts`
        (nodes,): the sums of each node. Raises PolicyError where they take more memory than the site allows.
        """
        guest = self.settings.guest
        with self.stopwatch.measure(SUMS_LABEL):
            self._check_memory(exchange, bin_counts)
            self.side.begin_level(exchange, key, bin_counts, guest)
            cuts = self.side.cuts(exchange)
        for cut in cuts:
            block = self.channel.receive(guest, f"{at}/{GRADIENTS_STEP}", GRADIENTS[self.settings.protection])
            with self.stopwatch.measure(SUMS_LABEL):
                sums = self.side.answer(block.values, _look_up(tables, self.own_bins, exchange, cut), guest)
            self.channel.send(guest, f"{at}/{SUMS}", SumsMessage(sums))

    def _check_memory(self, exchange: Exchange, bin_counts: IntArray) -> None:
        sums = self.side.working_bytes(exchange, bin_counts, self.settings.guest)
        longest = max((end - start for start, end in self.side.cuts(exchange)), default=0)
        what = f"{count_of(bin_counts.size, 'node')} of up to {count_of(int(bin_counts.max(initial=0)), 'sum')}"
        if self.settings.protection == "lattice":
            what += f" in windows of {exchange.window:,}"
        self.memory.check_sums(sums, len(self.own_bins) * longest, what)


def _look_up(tables: IntArray, own_bins: npt.NDArray[np.uint8], exchange: Exchange, cut: tuple[int, int]) -> Digits:
    """The digits (columns, rows) of a block's rows; columns without any are left out."""
    start, end = cut
    rows, width = exchange.rows[start:end], tables.shape[-1]
    base = (np.searchsorted(exchange.starts, np.arange(start, end), side="right") - 1) * width
    live = np.flatnonzero((tables >= 0).any(axis=(0, 2)))
    found = np.empty((live.size, rows.size), np.int32)
    for place, column in enumerate(live):
        flat = np.ascontiguousarray(tables[:, column], np.int32).reshape(-1)
        flat.take(base + own_bins[column, rows], out=found[place])
    return found
