"""Sums of gradients by leaf, finer than levels: counters, whose digits tell nothing but the counter's sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.model.trees import NodeId
from hekat.model.trees.rounding import IntArray
from hekat.protocol.horizontal_trees.measures import LEAF_UNITS
from hekat.protocol.secure_sum.aggregation import Counter


def leaf_counters(
    leaves: Sequence[NodeId],
    rows: Sequence[IntArray],
    derivatives: tuple[FloatArray, FloatArray],
    largest: tuple[FloatArray, FloatArray],
    weight_max: int,
) -> list[Counter]:
    """For each leaf the sums of first and second derivatives of this party's rows there.

    Of `derivatives`, (trees, rows) each, none passes `largest`, (trees,) each: they are told in parts of it, the first
    ones moved by it so that they are not negative.
    """
    units = [_in_units(values, most) for values, most in zip(derivatives, largest, strict=True)]
    counters = []
    for number, (leaf, here) in enumerate(zip(leaves, rows, strict=True)):
        first, second = (int(part[leaf.tree, here].sum()) for part in units)
        moved = first + LEAF_UNITS * len(here)
        counters.append(Counter(f"leaf/{number}/first", moved, 2 * LEAF_UNITS * weight_max))
        counters.append(Counter(f"leaf/{number}/second", second, LEAF_UNITS * weight_max))
        counters.append(Counter(f"leaf/{number}/rows", len(here), weight_max))
    return counters


def read_leaves(
    sums: Mapping[str, int], leaves: Sequence[NodeId], largest: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """The sums of all parties, (leaves, 2)."""
    found = np.zeros((len(leaves), 2))
    for number, leaf in enumerate(leaves):
        first = sums[f"leaf/{number}/first"] - LEAF_UNITS * sums[f"leaf/{number}/rows"]
        found[number, 0] = first / LEAF_UNITS * largest[0][leaf.tree]
        found[number, 1] = sums[f"leaf/{number}/second"] / LEAF_UNITS * largest[1][leaf.tree]
    return found


def _in_units(values: FloatArray, largest: FloatArray) -> IntArray:
    scale = np.where(largest > 0, LEAF_UNITS / np.where(largest > 0, largest, 1.0), 0.0)
    units: IntArray = np.rint(values * scale[:, None]).astype(np.int64)
    return units
