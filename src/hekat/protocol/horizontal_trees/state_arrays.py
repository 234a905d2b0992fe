"""A state of trees across rows as named arrays, and back: what files hold of it, checked before anybody uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.model.trees import BIN_PLACES, ColumnBins, Tree, TreeEnsemble
from hekat.model.trees.rounding import IntArray
from hekat.protocol.horizontal_trees.state import TreesState

Arrays = dict[str, npt.NDArray[Any]]

MASK_BYTES = BIN_PLACES // 8
MOST_VALUE = 1e100
"""Sums of larger numbers leave the range of floats."""
_NODES = {
    "column": np.int32,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "count": np.int64,
}


def to_arrays(state: TreesState) -> tuple[Arrays, dict[str, Any]]:
    """(arrays, what JSON holds) of a state."""
    arrays = {**to_model_arrays(state), "reach": state.reach, "counts": _joined(state.counts, np.int64)}
    facts = {
        "rows": state.row_count,
        "losses": list(state.losses),
        "held_out": [dict(metrics) for metrics in state.held_out],
        "finished": state.finished,
        "measured": state.measured,
    }
    return arrays, facts


def to_model_arrays(state: TreesState) -> Arrays:
    """What predicting takes of a state: its start, its bins and its trees."""
    trees = [tree for iteration in state.trees for tree in iteration]
    arrays: Arrays = {
        "start_scores": state.start_scores,
        "edge_starts": _starts([bins.edges for bins in state.bins]),
        "edges": _joined([bins.edges for bins in state.bins], np.float64),
        "tree_starts": _starts([tree.column for tree in trees]),
        "node_left_bins": np.packbits(
            np.concatenate([tree.left_bins for tree in trees] or [np.zeros((0, BIN_PLACES), bool)]), axis=1
        ),
    }
    for name, kind in _NODES.items():
        arrays[f"node_{name}"] = _joined([getattr(tree, name) for tree in trees], kind)
    return arrays


def from_arrays(arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> TreesState:
    """The state. Raises ValueError, in words, for arrays that are none; KeyError or TypeError for facts."""
    bins, ensemble = from_model_arrays(arrays)
    start_scores, iterations = ensemble.start_scores, list(ensemble.trees)
    reach = _take(arrays, "reach", np.float64, 1)
    if reach.shape != start_scores.shape or not ((reach >= 0) & (reach <= MOST_VALUE)).all():
        raise ValueError("bounds of gradients that are none")
    counts = _read_counts(arrays, bins)
    losses, held_out = _read_losses(facts, len(iterations))
    row_count, finished, measured = facts["rows"], facts["finished"], facts["measured"]
    if type(row_count) is not int or type(finished) is not bool or type(measured) is not bool:
        raise ValueError("facts of another type")
    if any(int(count.sum()) != row_count for count in counts):
        raise ValueError("bins of other rows")
    return TreesState(bins, counts, row_count, start_scores, reach, iterations, losses, held_out, finished, measured)


def from_model_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[tuple[ColumnBins, ...], TreeEnsemble]:
    """(the bins of each column, the model) of arrays that `to_model_arrays` made. Raises ValueError for others."""
    start_scores = _take(arrays, "start_scores", np.float64, 1)
    tree_count = start_scores.size
    if not tree_count or not (np.abs(start_scores) <= MOST_VALUE).all():
        raise ValueError("no start that scores can have")
    edges = _take(arrays, "edges", np.float64, 1)
    starts = _take_starts(arrays, "edge_starts", edges.size)
    bins = tuple(ColumnBins(edges[first:last]) for first, last in pairwise(starts))
    if not bins:
        raise ValueError("no columns")
    trees = _read_trees(arrays, bins)
    if len(trees) % tree_count:
        raise ValueError("a part of an iteration")
    iterations = tuple(tuple(trees[at : at + tree_count]) for at in range(0, len(trees), tree_count))
    return bins, TreeEnsemble(start_scores, iterations)


def _read_counts(arrays: Mapping[str, npt.NDArray[Any]], bins: Sequence[ColumnBins]) -> tuple[IntArray, ...]:
    counts = _take(arrays, "counts", np.int64, 1)
    if counts.size != sum(one.bin_count for one in bins) or (counts < 0).any():
        raise ValueError("rows of other bins")
    ends = np.cumsum([one.bin_count for one in bins])
    return tuple(np.split(counts, ends[:-1]))


def _read_trees(arrays: Mapping[str, npt.NDArray[Any]], bins: Sequence[ColumnBins]) -> list[Tree]:
    nodes = {name: _take(arrays, f"node_{name}", kind, 1) for name, kind in _NODES.items()}
    size = nodes["column"].size
    if any(values.size != size for values in nodes.values()):
        raise ValueError("nodes of different numbers")
    starts = _take_starts(arrays, "tree_starts", size)
    packed = _take(arrays, "node_left_bins", np.uint8, 2)
    if packed.shape != (size, MASK_BYTES):
        raise ValueError("bins of other nodes")
    trees = []
    for first, last in pairwise(starts):
        part = {name: values[first:last] for name, values in nodes.items()}
        left_bins = np.unpackbits(packed[first:last], axis=1).astype(bool)
        _check_tree(part, len(bins))
        trees.append(Tree(**part, left_bins=left_bins))
    return trees


def _check_tree(nodes: Mapping[str, npt.NDArray[Any]], column_count: int) -> None:
    """Raise ValueError unless every row comes to a leaf, and every leaf and gain is a number to add."""
    column, places = nodes["column"], np.arange(nodes["column"].size)
    if not column.size or column.min() < -1 or column.max() >= column_count:
        raise ValueError("nodes of other columns")
    inner = column >= 0
    for side in ("left", "right"):
        # Children come after their parent, so that no way leads in a circle.
        child = nodes[side]
        if ((child[inner] <= places[inner]) | (child[inner] >= column.size)).any() or (child[~inner] != -1).any():
            raise ValueError("nodes that lead to no leaf")
    if not ((np.abs(nodes["value"]) <= MOST_VALUE).all() and (np.abs(nodes["gain"]) <= MOST_VALUE).all()):
        raise ValueError("leaves or gains beyond reason")
    if (nodes["count"] < 0).any():
        raise ValueError("nodes of fewer rows than none")


def _read_losses(facts: Mapping[str, Any], iterations: int) -> tuple[list[float], list[dict[str, float]]]:
    losses, held_out = facts["losses"], facts["held_out"]
    expected = iterations + (facts["measured"] is True)
    # With differential privacy no loss is summed.
    if not (isinstance(losses, list) and all(map(_is_loss, losses)) and len(losses) in (0, expected)):
        raise ValueError("losses of other iterations, or no numbers")
    if not (isinstance(held_out, list) and len(held_out) in (0, expected)):
        raise ValueError("measures of other iterations")
    for metrics in held_out:
        if not (isinstance(metrics, dict) and all(type(value) in (int, float) for value in metrics.values())):
            raise ValueError("measures that are no numbers")
        # Early stopping reads one of them.
        if not _is_loss(metrics.get("log_loss", metrics.get("rmse"))):
            raise ValueError("measures without a loss")
    return list(losses), [dict(metrics) for metrics in held_out]


def _is_loss(value: object) -> bool:
    return type(value) is float and 0 <= value <= MOST_VALUE


def _take(arrays: Mapping[str, npt.NDArray[Any]], name: str, kind: Any, dimensions: int) -> npt.NDArray[Any]:
    values = arrays.get(name)
    if values is None or values.dtype != kind or values.ndim != dimensions:
        raise ValueError(f"{name} that are missing, or of another kind")
    return values


def _take_starts(arrays: Mapping[str, npt.NDArray[Any]], name: str, size: int) -> list[int]:
    starts = _take(arrays, name, np.int64, 1)
    if not starts.size or starts[0] != 0 or starts[-1] != size or (starts[1:] < starts[:-1]).any():
        raise ValueError(f"{name} of other entries")
    found: list[int] = starts.tolist()
    return found


def _starts(parts: Sequence[npt.NDArray[Any]]) -> IntArray:
    """Where each part begins in all of them together, and where the last one ends."""
    return np.cumsum([0, *(part.size for part in parts)], dtype=np.int64)


def _joined(parts: Sequence[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate([np.asarray(part, dtype=kind) for part in parts] or [np.zeros(0, dtype=kind)])
