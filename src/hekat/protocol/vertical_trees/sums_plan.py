"""What every party knows of the sums of a training: how many integers a row has, their ranges, rows of an iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import BoundError
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


def most_nodes(settings: VerticalTreesSettings, row_count: int) -> int:
    """The most nodes of a level, of all trees of an iteration, that can have sums, by depth, leaves and rows."""
    training = settings.training
    of_tree = min(1 << (training.max_depth - 1), max(1, row_count // training.min_samples_leaf))
    if training.max_leaf_nodes is not None:
        of_tree = min(of_tree, training.max_leaf_nodes)
    return of_tree * settings.target_count


def check_level_sums(settings: VerticalTreesSettings, row_count: int, bin_counts: Mapping[str, Sequence[int]]) -> None:
    """Raise BoundError where the guest has no room for the sums of a level on columns with so many bins, by host.

    A host's columns count with the bins of its widest one each, as they lie in memory.
    """
    cells = {host: len(counts) * max(counts, default=0) for host, counts in bin_counts.items()}
    nodes = most_nodes(settings, row_count)
    sums = nodes * sum(cells.values())
    if sums <= settings.max_level_sums:
        return
    largest = max(cells, key=lambda host: cells[host])
    counts = bin_counts[largest]
    raise BoundError(
        f"the columns of {', '.join(cells)} have more bins than the guest keeps room for",
        expected=f"at most protection.max_level_sums = {settings.max_level_sums:,} sums in a level",
        got=f"{sums:,}, in {nodes:,} nodes; {largest} alone has {len(counts):,} columns of up to {max(counts)} bins",
        cure="leave columns out at the host, lower training.max_bins or training.max_depth, or raise "
        "protection.max_level_sums where the guest has the memory: some 260 bytes for each sum",
    )
