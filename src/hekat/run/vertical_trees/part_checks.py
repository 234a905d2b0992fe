"""What a part of a model of trees must be to predict with: bins, splits and nodes that fit each other."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.model.trees.settings import MOST_BINS
from hekat.protocol.vertical_trees.model_part import (
    CATEGORY_BINS,
    EDGE_STARTS,
    EDGES,
    IS_CATEGORY,
    SPLIT_COLUMNS,
    SPLIT_LEFT,
    TreesPart,
)

_MASK_BYTES: Final = 32
_NODE_KINDS: Final = {
    "node_column": np.int32,
    "node_left": np.int32,
    "node_right": np.int32,
    "node_value": np.float64,
    "node_gain": np.float64,
    "node_count": np.int64,
    "node_split_number": np.int64,
}


def check_trees_part(part: TreesPart) -> None:
    """Raise ValueError for arrays that nobody can predict with."""
    _check_bins(part)
    if part.is_guest:
        _check_trees(part)
    else:
        _check_splits(part)


def _take(part: TreesPart, name: str, kind: Any, shape: tuple[int, ...] | None = None) -> npt.NDArray[Any]:
    values = part.arrays.get(name)
    if values is None or values.dtype != kind or (shape is not None and values.shape != shape):
        raise ValueError(f"{name} that are missing, or of another kind")
    return values


def _check_bins(part: TreesPart) -> None:
    count = len(part.columns)
    starts = _take(part, EDGE_STARTS, np.int64, (count + 1,))
    edges = _take(part, EDGES, np.float64)
    if edges.ndim != 1 or starts[0] != 0 or starts[-1] != len(edges) or (np.diff(starts) < 0).any():
        raise ValueError("bins of other columns")
    is_category = _take(part, IS_CATEGORY, np.uint8, (count,))
    places = _take(part, CATEGORY_BINS, np.uint8, edges.shape)
    for number in range(count):
        own = edges[starts[number] : starts[number + 1]]
        if (np.diff(own) <= 0).any() or not np.isfinite(own).all():
            raise ValueError("edges of bins that do not rise")
        most = MOST_BINS - 1 if not is_category[number] else len(own)
        bins = places[starts[number] : starts[number + 1]]
        if len(own) > most or (is_category[number] and (bins >= MOST_BINS).any()):
            raise ValueError("more bins than a column can have")


def _check_splits(part: TreesPart) -> None:
    columns = _take(part, SPLIT_COLUMNS, np.int64)
    if columns.ndim != 1 or (len(columns) and not 0 <= columns.min() <= columns.max() < len(part.columns)):
        raise ValueError("splits of other columns")
    _take(part, SPLIT_LEFT, np.uint8, (len(columns), _MASK_BYTES))


def _check_split_numbers(part: TreesPart, column: npt.NDArray[Any], split: npt.NDArray[Any]) -> None:
    """Raise ValueError unless the nodes on a host's columns have its splits, each of them once."""
    begin = len(part.columns)
    for host in part.hosts:
        end = begin + part.host_columns[host]
        numbers = np.sort(split[(column >= begin) & (column < end)])
        if not np.array_equal(numbers, np.arange(len(numbers))):
            raise ValueError("splits of a host that are missing, or that repeat")
        begin = end


def _check_trees(part: TreesPart) -> None:
    _take(part, "start_scores", np.float64, (part.target_count,))
    starts = _take(part, "tree_starts", np.int64, (part.iterations * part.target_count + 1,))
    count = int(starts[-1])
    if starts[0] != 0 or (np.diff(starts) < 1).any():
        raise ValueError("trees without nodes")
    nodes = {name: _take(part, name, kind, (count,)) for name, kind in _NODE_KINDS.items()}
    _take(part, "node_left_bins", np.uint8, (count, _MASK_BYTES))
    column, split = nodes["node_column"], nodes["node_split_number"]
    own, total = len(part.columns), len(part.columns) + sum(part.host_columns.values())
    if count and not -1 <= column.min() <= column.max() < total:
        raise ValueError("nodes of other columns")
    if ((column >= own) != (split >= 0)).any():
        raise ValueError("splits of a host without a number, or others with one")
    _check_split_numbers(part, column, split)
    first = np.repeat(starts[:-1], np.diff(starts))
    place, size = np.arange(count) - first, np.repeat(np.diff(starts), np.diff(starts))
    inner = column >= 0
    for side in ("node_left", "node_right"):
        # Children come after their parent, so that every row comes to a leaf.
        child = nodes[side]
        if ((child[inner] <= place[inner]) | (child[inner] >= size[inner])).any() or (child[~inner] != -1).any():
            raise ValueError("nodes that lead to no leaf")
