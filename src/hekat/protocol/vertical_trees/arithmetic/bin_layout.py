"""Which joined bins of a node need a sum: all that hold rows but the fullest of each column, which the rest leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
ABSENT = -1


@dataclass(frozen=True)
class BinLayout:
    """Of N nodes: `digits` int64 (N, C, B), the place of each joined bin among the node's sums, ABSENT without one.

    `counts` (N,): the sums of each node. `fullest` (N, C): the joined bin of most rows, the first of several; its sum
    is what the node's total leaves.
    """

    digits: IntArray
    counts: IntArray
    fullest: IntArray

    @classmethod
    def of(cls, row_counts: IntArray) -> BinLayout:
        """The layout for rows by joined bin, (N, C, B): 0 beyond a column's joined bins."""
        fullest = row_counts.argmax(axis=-1)
        is_sent = row_counts > 0
        np.put_along_axis(is_sent, fullest[..., np.newaxis], False, axis=-1)
        flat = is_sent.reshape(len(row_counts), -1)
        places = np.cumsum(flat, axis=1) - 1
        digits = np.where(flat, places, ABSENT).reshape(row_counts.shape)
        return cls(digits, flat.sum(axis=1), fullest)

    def spread(self, sums: IntArray, totals: IntArray, row_counts: IntArray) -> IntArray:
        """Sums (numbers, components), node by node, in their places: (components, N, C, B).

        `totals` (components, N) are the nodes' own.
        """
        is_sent = self.digits >= 0
        out = np.zeros((sums.shape[1], *self.digits.shape), np.int64)
        out[:, is_sent] = sums.T
        rest = totals[:, :, np.newaxis] - out.sum(axis=-1)
        has_rows = row_counts.any(axis=-1)
        rest = np.where(has_rows, rest, 0)
        np.put_along_axis(
            out, np.broadcast_to(self.fullest, rest.shape)[..., np.newaxis], rest[..., np.newaxis], axis=-1
        )
        return out
