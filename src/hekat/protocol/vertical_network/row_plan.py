"""Which rows make a batch and which train nothing: the same at all parties, since it follows from the job's seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical.batches import draw_batches
from hekat.protocol.vertical.hold_out import count_held_out
from hekat.protocol.vertical.row_order import draw_order
from hekat.protocol.vertical_network.network_settings import NetworkTraining

IntArray = npt.NDArray[np.int64]
_DOMAIN = b"hekat/vertical-network/batches/1:"


@dataclass(frozen=True)
class RowPlan:
    """The rows of each batch and the held-out ones, ascending, by their numbers in the common order."""

    batches: tuple[IntArray, ...]
    held_out: IntArray

    @classmethod
    def of(cls, row_count: int, training: NetworkTraining) -> RowPlan:
        """The plan of a training on so many common rows."""
        count = count_held_out(row_count, training.validation_fraction)
        order = draw_order(row_count, training.seed)
        trained = np.sort(order[count:])
        batches = draw_batches(len(trained), training.batch_rows, training.seed)
        return cls(tuple(trained[batch] for batch in batches), np.sort(order[:count]))

    @property
    def trained(self) -> IntArray:
        """The rows of all batches."""
        return np.sort(np.concatenate(self.batches)) if self.batches else self.held_out[:0]

    @property
    def most_rows(self) -> int:
        """The rows of the largest batch."""
        return max(map(len, self.batches), default=0)

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that stand for the plan."""
        digest = hashlib.sha256(_DOMAIN)
        for rows in (*self.batches, self.held_out):
            digest.update(len(rows).to_bytes(8, "little") + rows.astype("<i8").tobytes())
        return digest.digest()


def blocks_of(row_count: int, block_rows: int) -> list[slice]:
    """Rows outside training, in blocks of at most so many."""
    return [slice(start, min(row_count, start + block_rows)) for start in range(0, row_count, block_rows)]
