"""The best split of each node over all columns, in NumPy over all nodes at once, the same wherever it is computed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hekat.model.parameters import FloatArray
from hekat.model.trees.bin_sums import GRADIENTS, HESSIANS, ROWS, BinSums
from hekat.model.trees.node import BoolArray
from hekat.model.trees.rounding import IntArray
from hekat.model.trees.settings import TreeTraining

CATEGORY_SMOOTHING = 10.0
"""Added to the sum of second derivatives where categories are put in order, so that rare ones do not lie at the ends.
Source: LightGBM's `cat_smooth`, and the same constant in scikit-learn's HistGradientBoosting."""


@dataclass(frozen=True)
class BestSplits:
    """The best split of each of N nodes: `gains`, shape (N,), -inf where none is allowed; `columns`, shape (N,).

    `left`, shape (N, B): the joined bins that go left. `left_totals`, shape (3, N): rows and levels of the left child.
    """

    gains: FloatArray
    columns: IntArray
    left: BoolArray = field(repr=False)
    left_totals: IntArray = field(repr=False)


def find_best_splits(
    sums: BinSums,
    is_category: BoolArray,
    gradient_scales: FloatArray,
    hessian_scales: FloatArray,
    training: TreeTraining,
    least_rows: IntArray | None = None,
) -> BestSplits:
    """The split of largest gain of each node; of equal gains, the first column, missing values right, fewest bins left.

    `is_category`, shape (C,); scales, shape (N,), say what a level stands for. `least_rows`, shape (N,): of a child of
    each node; None: `min_samples_leaf`. Numbers are divided in their order with missing values on either side,
    categories in the order of their mean gradient.

    Gain = GL^2 / (HL + l2) + GR^2 / (HR + l2) - G^2 / (H + l2), each of sums times their scale, in this order of
    operations on float64: the same sums give the same split on every machine.
    """
    order = _bin_order(sums, is_category, gradient_scales, hessian_scales, training)
    ordered = np.take_along_axis(sums.sums, order[None], axis=-1)
    prefixes = np.cumsum(ordered, axis=-1)
    places = np.arange(prefixes.shape[-1])
    is_prefix = places < (sums.bin_counts - 1)[..., None]
    scales = (gradient_scales, hessian_scales)
    if least_rows is None:
        least_rows = np.full(sums.node_count, training.min_samples_leaf)
    gains = [_gains(prefixes, sums.totals, is_prefix, scales, training, least_rows)]
    candidates = [prefixes]
    if sums.missing_last.any():
        last = np.maximum(sums.bin_counts - 1, 0)
        missing = np.take_along_axis(sums.sums, last[None, ..., None], axis=-1)
        with_missing = prefixes + missing
        is_allowed = sums.missing_last[..., None] & (places < (sums.bin_counts - 2)[..., None])
        gains.append(_gains(with_missing, sums.totals, is_allowed, scales, training, least_rows))
        candidates.append(with_missing)
    return _pick(gains, candidates, order, sums)


def _bin_order(
    sums: BinSums,
    is_category: BoolArray,
    gradient_scales: FloatArray,
    hessian_scales: FloatArray,
    training: TreeTraining,
) -> IntArray:
    """The order of each column's joined bins, shape (N, C, B): of numbers as they are, of categories by gradient."""
    _, nodes, columns, width = sums.sums.shape
    order = np.broadcast_to(np.arange(width), (nodes, columns, width))
    if not is_category.any():
        return order
    order = order.copy()
    of_categories = sums.sums[:, :, is_category]
    first = of_categories[GRADIENTS] * gradient_scales[:, None, None]
    second = of_categories[HESSIANS] * hessian_scales[:, None, None]
    keys = first / (second + (training.l2_regularization + CATEGORY_SMOOTHING))
    keys[np.arange(width) >= sums.bin_counts[:, is_category][..., None]] = np.inf
    order[:, is_category] = np.argsort(keys, axis=-1, kind="stable")
    return order


def _gains(
    left: IntArray,
    totals: IntArray,
    is_allowed: BoolArray,
    scales: tuple[FloatArray, FloatArray],
    training: TreeTraining,
    least_rows: IntArray,
) -> FloatArray:
    """The gain of each candidate, shape (N, C, B); -inf where the settings forbid it."""
    right = totals[:, :, None, None] - left
    of_gradients, of_hessians = (scale[:, None, None] for scale in scales)
    left_g, right_g = left[GRADIENTS] * of_gradients, right[GRADIENTS] * of_gradients
    left_h, right_h = left[HESSIANS] * of_hessians, right[HESSIANS] * of_hessians
    node_g = totals[GRADIENTS][:, None, None] * of_gradients
    node_h = totals[HESSIANS][:, None, None] * of_hessians
    l2 = training.l2_regularization
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = (left_g * left_g / (left_h + l2) + right_g * right_g / (right_h + l2)) - (
            node_g * node_g / (node_h + l2)
        )
    least_weight, least = training.min_child_weight, least_rows[:, None, None]
    is_allowed = (
        is_allowed
        & (left[ROWS] >= least)
        & (right[ROWS] >= least)
        & (left_h >= least_weight)
        & (right_h >= least_weight)
        & (left_h + l2 > 0)
        & (right_h + l2 > 0)
        & (found > training.min_gain)
    )
    return np.where(is_allowed, found, -np.inf)


def _pick(gains: list[FloatArray], candidates: list[IntArray], order: IntArray, sums: BinSums) -> BestSplits:
    nodes, _, width = gains[0].shape
    every = np.arange(nodes)
    stacked = np.stack(gains, axis=2)
    best = stacked.reshape(nodes, -1).argmax(axis=1)
    columns, side, prefix = np.unravel_index(best, stacked.shape[1:])
    left = np.zeros((nodes, width), bool)
    np.put_along_axis(left, order[every, columns], np.arange(width) <= prefix[:, None], axis=1)
    with_missing = np.flatnonzero(side == 1)
    left[with_missing, sums.bin_counts[with_missing, columns[with_missing]] - 1] = True
    left_totals = np.empty((3, nodes), np.int64)
    for n, (s, c, p) in enumerate(zip(side, columns, prefix, strict=True)):
        left_totals[:, n] = candidates[s][:, n, c, p]
    return BestSplits(stacked[every, columns, side, prefix], columns, left, left_totals)
