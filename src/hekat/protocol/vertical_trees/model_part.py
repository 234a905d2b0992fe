"""TreesPart: what one party keeps of a model of trees. No part is of use without the other parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.model.trees import ColumnBins

Arrays = Mapping[str, npt.NDArray[Any]]

# Names of arrays. Bins of the party's own columns:
EDGES, EDGE_STARTS, CATEGORY_BINS, IS_CATEGORY = "edges", "edge_starts", "category_bins", "is_category"
# A host's splits, in the order in which the guest chose them:
SPLIT_COLUMNS, SPLIT_LEFT = "split_columns", "split_left"
MASK_BINS: Final = 256


@dataclass(frozen=True)
class TreesPart:
    """One party's part of a model; all parts of one model have the same `model_id`.

    `arrays` hold the bins of the party's own columns. A host's have its splits: `split_columns` int64 (splits,) and
    `split_left` uint8 (splits, 32), packed bits over the column's bins, 1 for left. The guest's have the trees
    (`tree_arrays.py`), where a host's split is known by its number alone.

    `iterations` says how many iterations trained the model; `host_columns`, at the guest, how many columns a
    host has. `label_privacy` is the epsilon by which labels were replaced; None: they were not.
    """

    party: str
    guest: str
    hosts: tuple[str, ...]
    task: str
    classes: tuple[str, ...] | None
    columns: tuple[str, ...]
    model_id: str
    iterations: int
    arrays: Arrays = field(repr=False)
    host_columns: Mapping[str, int] = field(default_factory=dict)
    label_privacy: float | None = None

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (self.guest, *self.hosts)

    @property
    def is_guest(self) -> bool:
        return self.party == self.guest

    @property
    def target_count(self) -> int:
        """K, the number of trees of an iteration: one, or one for each class of three or more."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    @property
    def bins(self) -> tuple[ColumnBins, ...]:
        """The bins of the party's own columns."""
        return read_bins(self.arrays)


def bins_as_arrays(bins: Sequence[ColumnBins]) -> dict[str, npt.NDArray[Any]]:
    """The bins of columns as arrays by name."""
    sizes = [len(column.edges) for column in bins]
    categories = [
        column.category_bins if column.is_category else np.zeros(len(column.edges), np.uint8) for column in bins
    ]
    return {
        EDGES: np.concatenate([np.zeros(0), *(column.edges for column in bins)]),
        EDGE_STARTS: np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        CATEGORY_BINS: np.concatenate([np.zeros(0, np.uint8), *categories]),
        IS_CATEGORY: np.array([column.is_category for column in bins], np.uint8),
    }


def read_bins(arrays: Arrays) -> tuple[ColumnBins, ...]:
    """The bins in arrays of `bins_as_arrays`."""
    starts = arrays[EDGE_STARTS]
    columns = []
    for number, is_category in enumerate(arrays[IS_CATEGORY]):
        part = slice(int(starts[number]), int(starts[number + 1]))
        categories = arrays[CATEGORY_BINS][part] if is_category else np.zeros(0, np.uint8)
        columns.append(ColumnBins(np.array(arrays[EDGES][part]), bool(is_category), np.array(categories)))
    return tuple(columns)
