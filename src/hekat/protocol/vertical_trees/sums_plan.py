"""What every party knows of the sums of a training: how many integers a row has, their ranges, rows of an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical_trees.arithmetic.interface import Exchange, IntArray, Ranges
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings

Bools = npt.NDArray[np.bool_]
NODES_AT_ONCE: Final = 16
"""Nodes of a hidden partition whose sums are asked in one exchange: they share the second half of each answer."""
MOST_COLUMNS: Final = 1 << 16
"""No party has more columns."""
ROW_RANGE = (0, 1)
"""The range of the 1 of a row, whose sums count rows."""


def tree_ranges(settings: VerticalTreesSettings) -> Ranges:
    """The ranges of one tree's integers of a row: a gradient, a hessian where it is not 1 for every row, and a 1.

    Hosts count rows themselves, and need no 1, unless the partition is hidden from them.
    """
    bits = settings.training.gradient_bits
    half = 1 << (bits - 1)
    gradient = (-half, half)
    sums = (gradient,) if settings.task == "regression" else (gradient, (0, 1 << bits))
    return (*sums, ROW_RANGE) if settings.hide_partition else sums


def root_ranges(settings: VerticalTreesSettings) -> Ranges:
    """The ranges of the root's integers of a row, where the trees of all classes share one exchange."""
    return tree_ranges(settings) * settings.target_count


def make_exchange(
    level: int, ranges: Ranges, window: int, node_rows: Sequence[IntArray], trees: Sequence[int]
) -> Exchange:
    """The exchange of nodes with these rows each, of these trees."""
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in node_rows])]).astype(np.int64)
    rows = np.concatenate([np.zeros(0, np.int64), *node_rows])
    return Exchange(level, rows, starts, ranges, window, np.array(trees, np.int64))


def uses_hosts(settings: VerticalTreesSettings, iteration: int) -> bool:
    """Whether an iteration (the first is 1) uses columns of hosts."""
    return iteration > settings.label_party_first_trees


def sampled_places(is_sampled: Bools, column_counts: Sequence[int], party: int) -> npt.NDArray[np.bool_]:
    """The part of `is_sampled` (columns of all parties) that is about the columns of one party, by its number."""
    first = sum(column_counts[:party])
    return is_sampled[first : first + column_counts[party]]
