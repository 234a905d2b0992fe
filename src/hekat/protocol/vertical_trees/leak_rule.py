"""What sums tell the guest of a host's column, counted in bits, and the rule that holds a host's leave to it.

The guest knows the gradients of every row, so each sum is an equation on the rows of a bin. A host trains unless the
entropy of a column over all rows is MARGIN times what its sums can tell; most jobs pass that, and say in words
(`bin_leak_accepted`) that the guest may learn the bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import PolicyError
from hekat.protocol.vertical_trees.settings import BIN_LEAK_ACCEPTED, VerticalTreesSettings
from hekat.protocol.vertical_trees.sums_plan import tree_ranges

MARGIN: Final = 10


@dataclass(frozen=True)
class BinLeak:
    """The column of a host that its sums tell most of: `held_bits` all rows hold, `opened_bits` sums tell at most."""

    held_bits: float
    opened_bits: float
    numbers: int

    @property
    def is_within_rule(self) -> bool:
        return self.held_bits >= MARGIN * self.opened_bits

    def describe(self) -> str:
        """The line of the ledger."""
        return (
            f"the guest opens at most {self.numbers:,} numbers on a column of this host, {self.opened_bits:,.0f} bits; "
            f"all rows hold {self.held_bits:,.0f} bits of that column"
            + ("" if self.is_within_rule else ": the guest may learn the bin of every row")
        )

    def check(self, party: str, settings: VerticalTreesSettings) -> None:
        """Raise PolicyError where the rule is broken and the job does not waive it."""
        if self.is_within_rule or settings.bin_leak_accepted is not None:
            return
        raise PolicyError(
            f"sums of gradients would tell the guest the bins of a column of {party}",
            expected=f"{MARGIN} times as many bits in all rows of the column as sums tell",
            got=f"{self.held_bits:,.0f} bits in the rows, {self.opened_bits:,.0f} in at most {self.numbers:,} sums",
            cure="train fewer or smaller trees with fewer bins, or waive the rule in the job: "
            f"bin_leak.accepted = {BIN_LEAK_ACCEPTED!r}, which a site allows by policy.bin_leak_waiver = true",
        )


def count_opened(settings: VerticalTreesSettings, row_count: int, bin_count: int) -> tuple[int, float]:
    """The most sums (of rows, of gradients and of hessians) that are opened on a column in a training, and their bits.

    A joined bin keeps `min_samples_leaf` rows in both children, which bounds how many there are of small nodes; where
    the partition is hidden, every node has the joined bins of the root.
    """
    training = settings.training
    iterations = training.max_iter - settings.label_party_first_trees
    numbers, bits = 0, 0.0
    for level in range(training.max_depth):
        nodes = 1 if level == 0 else 1 << (level - 1)
        node_rows = max(1, row_count >> level)
        bins = nodes * (bin_count - 1)
        if level and not settings.hide_partition:
            bins = min(bins, row_count // (2 * training.min_samples_leaf))
        values = [node_rows, *((high - low) * node_rows for low, high in tree_ranges(settings))]
        numbers += bins * len(values)
        bits += bins * sum(math.log2(value + 1) for value in values)
    repeats = iterations * settings.target_count
    return numbers * repeats, bits * repeats


def measure_leak(settings: VerticalTreesSettings, digits: npt.NDArray[np.uint8], bin_counts: Sequence[int]) -> BinLeak:
    """The leak of the column that loses most, from the bins of all rows (columns, rows)."""
    row_count = digits.shape[1]
    leaks = []
    for column, bin_count in zip(digits, bin_counts, strict=True):
        numbers, opened = count_opened(settings, row_count, bin_count)
        shares = np.bincount(column) / row_count
        shares = shares[shares > 0]
        leaks.append(BinLeak(float(-(shares * np.log2(shares)).sum()) * row_count, opened, numbers))
    return min(leaks, key=lambda leak: leak.held_bits / max(leak.opened_bits, 1.0))
