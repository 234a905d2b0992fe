"""The set of coordinates of a round: chosen alike at every party, and held against the others' before the sum opens.

    v_i = g_i + e_i      party i's update, and what it still owes
    I   = agree(...)     one set for all parties, `SumSettings.keep` says how
    send v_i on I        gathered, masked densely: the aggregator sees how many values there are, and not which
    e_i = v_i - sent     stays at home (`OwnState.owed`)

The sum is zero outside of I, so that what parties receive needs no compression of its own, and has no second error.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.privacy.mask import Mask
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.index_sets.shared_draw import draw_subset, seed_of
from hekat.protocol.secure_sum.index_sets.votes import BLOCK_VALUES, count_votes, largest, vote, wanted_blocks
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import Tensors

# Of what was seen of a value before, how much is left beside a new sum. Half of a set by `top_k` is random: by a tenth
# a value would come up so rarely that the first ones chosen stay the only ones (docs/decisions/0097).
DECAY = 0.5
RANDOM_SHARE = 0.5


@dataclass(frozen=True)
class IndexSets:
    """One party's side of the agreement; `digest_key` is the parties' alone, `job_digest` public."""

    sums: SumSettings
    job_digest: bytes
    digest_key: bytes

    def agree(self, aggregation: Aggregation, step: str, values: Mapping[str, npt.NDArray[Any]], seen: Tensors) -> Mask:
        """The set of `step`; from now on no sum opens with an update of a party that has another one.

        `values` are this party's own, zeros where it does not take part; `seen` as `learn` keeps it.
        """
        mask = self._choose(aggregation, step, values, seen)
        digest = mask.digest(self.job_digest)
        aggregation.agree_on(hmac.digest(self.digest_key or b"unkeyed", digest, "sha256"))
        return mask

    def learn(self, seen: Tensors, mask: Mask, kept_means: Tensors) -> None:
        """Note in `seen`, by tensor, how large the sum of each sent value was; only `top_k` asks for it later."""
        for name, values in seen.items():
            flat, chosen = values.reshape(-1), mask.chosen(name)
            flat[chosen] = DECAY * flat[chosen] + (1 - DECAY) * np.abs(kept_means[name])

    def _choose(
        self, aggregation: Aggregation, step: str, values: Mapping[str, npt.NDArray[Any]], seen: Tensors
    ) -> Mask:
        sizes, seed = {name: values[name].size for name in sorted(values)}, seed_of(self.job_digest, step)
        value_count = sum(sizes.values())
        count = kept_count(value_count, self.sums.keep.share)
        if self.sums.keep.by == "random_k":
            return _mask_of(sizes, _at(value_count, draw_subset(seed, value_count, count)))
        if self.sums.keep.by == "top_k":
            return _mask_of(sizes, _at(value_count, _seen_largest(seen, count, seed)))
        wanted = wanted_blocks(value_count, count)
        counts = count_votes(aggregation, step, vote(values, wanted), self.sums)
        chosen = np.ones(value_count, dtype=np.bool_)
        blocks = _at(counts.size, _most_votes(counts, wanted, seed))
        chosen[: blocks.size * BLOCK_VALUES] = np.repeat(blocks, BLOCK_VALUES)
        return _mask_of(sizes, chosen)


def kept_count(value_count: int, share: float) -> int:
    """k: how many of so many values are sent."""
    return min(value_count, ceil(share * value_count))


def _most_votes(counts: npt.NDArray[np.int64], wanted: int, seed: bytes) -> npt.NDArray[np.int64]:
    """The blocks with the most votes; which of equal ones, the seed says, so that none waits for ever."""
    if not wanted:
        return np.zeros(0, dtype=np.int64)
    least = np.partition(counts, counts.size - wanted)[counts.size - wanted]
    above, even = np.flatnonzero(counts > least), np.flatnonzero(counts == least)
    return np.concatenate([above, even[draw_subset(seed, even.size, wanted - above.size)]])


def _seen_largest(seen: Tensors, count: int, seed: bytes) -> npt.NDArray[np.int64]:
    """The values that were largest, and random ones: these alone, as long as nothing was seen."""
    scores = np.concatenate([seen[name].reshape(-1) for name in sorted(seen)])
    top = largest(scores, min(count - ceil(RANDOM_SHARE * count), int(np.count_nonzero(scores))))
    left = np.flatnonzero(~_at(scores.size, top))
    return np.concatenate([top, left[draw_subset(seed, left.size, count - top.size)]])


def _at(size: int, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    chosen = np.zeros(size, dtype=np.bool_)
    chosen[places] = True
    return chosen


def _mask_of(sizes: Mapping[str, int], chosen: npt.NDArray[np.bool_]) -> Mask:
    return Mask(sizes, np.packbits(chosen, bitorder="little"))
