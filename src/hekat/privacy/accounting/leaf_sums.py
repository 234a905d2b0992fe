"""How far one row moves sums of derivatives in leaves of public splits.

A row is in one leaf of each tree. For two classes its part is g = p - y and h = p (1 - p) with g^2 + h^2 <= 1: for
y = 0 that is p^2 (1 + (1 - p)^2), which rises to 1 at p = 1.
For more classes it lies in as many trees as there are classes, and all its parts together have a norm of sqrt(2) at the
most: with phi(p) = p^2 (1 + c^2 (1 - p)^2), c <= 3/2, phi(p) / p rises, so that the parts of other classes are at most
phi(1 - q), q the probability of the row's own class, and so is its own.
"""

from __future__ import annotations

import math
from typing import Final

LEVELS: Final = 256
"""Levels of a derivative of 1; a row's derivatives are rounded to the nearest ones."""


def sensitivity_of_leaves(tree_count: int) -> float:
    """D2, in levels: the most by which one row moves the sums of an iteration, rounding to the nearest included."""
    return LEVELS * math.sqrt(1 if tree_count == 1 else 2) + math.sqrt(2 * tree_count) / 2


def least_sensitivity_of_leaves(value_count: int) -> float:
    """D2 of the fewest trees that have so many sums, two a leaf: each tree has a power of two of leaves.

    Examples:
        >>> from hekat.privacy.accounting.leaf_sums import least_sensitivity_of_leaves, sensitivity_of_leaves
        >>> least_sensitivity_of_leaves(2 * 3 * 16) == sensitivity_of_leaves(3)
        True
    """
    return sensitivity_of_leaves(max(1, value_count // (value_count & -value_count)))
