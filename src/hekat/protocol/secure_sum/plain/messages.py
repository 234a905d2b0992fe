"""Every message of protection `none`, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import disclosed, message, public


@message("horizontal/plain-update", version=2)
@dataclass(frozen=True)
class PlainUpdateMessage:
    """Party to aggregator under protection `none`: the update in the clear; counters as limbs, shape (count, 4).

    Streamed float32 tensors follow in `block_count` blocks, and `values` is empty then.
    """

    values: npt.NDArray[np.float64] = disclosed("THE PARTY'S UPDATE, UNENCRYPTED")
    weight: int = disclosed("the party's row count")
    counters: npt.NDArray[np.uint64] = disclosed("the party's loss and counters")
    block_count: int = public()


@message("horizontal/plain-block", version=1)
@dataclass(frozen=True)
class PlainBlockMessage:
    """Party to aggregator under protection `none`: the next values of an update that is sent in blocks."""

    values: npt.NDArray[np.float32] = disclosed("A PART OF THE PARTY'S UPDATE, UNENCRYPTED")


@message("horizontal/plain-mean-block", version=1)
@dataclass(frozen=True)
class PlainMeanBlockMessage:
    """Aggregator to each party: the weighted mean of the blocks that came at this place."""

    values: npt.NDArray[np.float32] = disclosed("a part of the weighted mean of the updates")


@message("horizontal/plain-mean", version=1)
@dataclass(frozen=True)
class PlainMeanMessage:
    """Aggregator to each party under protection `none`: the weighted mean; counters as limbs, shape (count, 4)."""

    values: npt.NDArray[np.float64] = disclosed("the weighted mean of the updates")
    weight_sum: int = disclosed("the rows of all parties")
    counters: npt.NDArray[np.uint64] = disclosed("the sum of the counters")
