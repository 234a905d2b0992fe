"""Histograms of one party's own rows: exact whole numbers, at a few nanoseconds a row and column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekat.model.trees.bin_sums import GRADIENTS, HESSIANS, ROWS
from hekat.model.trees.column_bins import Digits
from hekat.model.trees.rounding import GradientLevels, IntArray

_EXACT_BITS = 53
"""Sums of whole numbers in float64, as np.bincount adds them, are exact below 2^53."""
_LEAST_PACKED_BITS = 12
"""Below 2^12 rows in a block, packing three sums into one number takes longer than three sums."""
_COUNTED_BLOCK_ROWS = 1 << 18


def sum_bins(
    digits: Digits, node_rows: Sequence[IntArray], node_trees: Sequence[int], levels: GradientLevels, width: int
) -> IntArray:
    """Rows, gradient levels and hessian levels by node, column and bin: shape (3, N, C, width), int64.

    `digits`, shape (C, rows), all below `width`; `node_rows`: the rows of each node, ascending; `node_trees`: the tree
    whose levels each node adds.
    """
    rows, nodes, trees = _flatten(node_rows, node_trees)
    out = np.zeros((3, len(node_rows), digits.shape[0], width), np.int64)
    count_bits = min((_EXACT_BITS - 2 * levels.bits) // 3, 31)
    if count_bits >= _LEAST_PACKED_BITS:
        for start in range(0, len(rows), (1 << count_bits) - 1):
            block = slice(start, start + (1 << count_bits) - 1)
            _add_packed(out, digits, rows[block], nodes[block], trees[block], levels, count_bits)
        return out
    block_rows = 1 << min(_EXACT_BITS - levels.bits - 1, 18)
    for start in range(0, len(rows), block_rows):
        block = slice(start, start + block_rows)
        _add_apart(out, digits, rows[block], nodes[block], trees[block], levels)
    return out


def count_bins(digits: Digits, node_rows: Sequence[IntArray], width: int) -> IntArray:
    """Rows by node, column and bin: shape (N, C, width), int64."""
    rows, nodes, _ = _flatten(node_rows, [0] * len(node_rows))
    out = np.zeros((len(node_rows), digits.shape[0], width), np.int64)
    for start in range(0, len(rows), _COUNTED_BLOCK_ROWS):
        block = slice(start, start + _COUNTED_BLOCK_ROWS)
        first, offsets, taken = _offsets(digits, rows[block], nodes[block], width)
        last = int(nodes[block][-1]) + 1
        for c in range(digits.shape[0]):
            found = np.bincount(offsets + taken[c], minlength=(last - first) * width)
            out[first:last, c] += found.reshape(last - first, width)
    return out


def _flatten(node_rows: Sequence[IntArray], node_trees: Sequence[int]) -> tuple[IntArray, IntArray, IntArray]:
    """All rows one node after the other, with the place of the node and the tree of each."""
    sizes = [len(rows) for rows in node_rows]
    if not sizes:
        return (np.zeros(0, np.int64),) * 3
    nodes = np.repeat(np.arange(len(sizes)), sizes)
    return np.concatenate(node_rows), nodes, np.asarray(node_trees, np.int64)[nodes]


def _offsets(digits: Digits, rows: IntArray, nodes: IntArray, width: int) -> tuple[int, IntArray, Digits]:
    """(first node of the block, place of each row's node in a flat histogram, the rows' digits)."""
    first = int(nodes[0])
    return first, (nodes - first) * width, np.take(digits, rows, axis=1)


def _add_packed(
    out: IntArray,
    digits: Digits,
    rows: IntArray,
    nodes: IntArray,
    trees: IntArray,
    levels: GradientLevels,
    count_bits: int,
) -> None:
    """Adds a block's sums to `out`, all three in one number: rows lowest, hessians, then gradients from 0 up."""
    shift, lowest = count_bits + levels.bits, 1 << (levels.bits - 1)
    hessians, gradients = levels.hessians[trees, rows], levels.gradients[trees, rows] + lowest
    packed = (1 + (hessians << count_bits) + (gradients << (count_bits + shift))).astype(np.float64)
    width = out.shape[-1]
    first, offsets, taken = _offsets(digits, rows, nodes, width)
    last = int(nodes[-1]) + 1
    for c in range(digits.shape[0]):
        found = np.bincount(offsets + taken[c], packed, minlength=(last - first) * width).astype(np.int64)
        found = found.reshape(last - first, width)
        counts = found & ((1 << count_bits) - 1)
        out[ROWS, first:last, c] += counts
        out[HESSIANS, first:last, c] += (found >> count_bits) & ((1 << shift) - 1)
        out[GRADIENTS, first:last, c] += (found >> (count_bits + shift)) - lowest * counts


def _add_apart(
    out: IntArray, digits: Digits, rows: IntArray, nodes: IntArray, trees: IntArray, levels: GradientLevels
) -> None:
    """Adds a block's sums to `out`, each component by itself: |sum| <= rows * 2^bits stays below 2^53."""
    hessians = levels.hessians[trees, rows].astype(np.float64)
    gradients = levels.gradients[trees, rows].astype(np.float64)
    width = out.shape[-1]
    first, offsets, taken = _offsets(digits, rows, nodes, width)
    last = int(nodes[-1]) + 1
    shape = (last - first, width)
    for c in range(digits.shape[0]):
        places = offsets + taken[c]
        out[ROWS, first:last, c] += np.bincount(places, minlength=shape[0] * width).reshape(shape)
        for component, values in ((GRADIENTS, gradients), (HESSIANS, hessians)):
            added = np.bincount(places, values, minlength=shape[0] * width)
            out[component, first:last, c] += added.astype(np.int64).reshape(shape)
