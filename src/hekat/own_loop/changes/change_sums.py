"""A round's sum of all parties' changes, whole or in part, within the bounds that the settings give them."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.own_loop.averaging import Call
from hekat.own_loop.changes.kept_changes import KeptChanges
from hekat.privacy.mask import Mask
from hekat.protocol.horizontal.training.clipping import ClippingPolicy, sizes_of
from hekat.protocol.secure_sum.aggregation import Aggregate, Aggregation, SumRequest, scale_by_weight
from hekat.protocol.secure_sum.index_sets.agree import IndexSets
from hekat.protocol.secure_sum.index_sets.settings import KEEP
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import scale_streamed
from hekat.protocol.secure_sum.update_norm import UpdateNorm
from hekat.protocol.stopwatch import Stopwatch


@dataclass(frozen=True)
class Summed:
    """What a round's sum gave, and the sizes and clipping bounds of the tensors that were sent."""

    aggregate: Aggregate
    sizes: dict[str, int]
    bounds: dict[str, float]


def make_change_sums(
    channel: RecordedChannel, settings: SumSettings, aggregation: Aggregation, stopwatch: Stopwatch, digest_key: bytes
) -> ChangeSums:
    """A party's part in the sums of its changes; the ledger is told what of them is sent."""
    keep = settings.keep
    if keep.is_on:
        channel.ledger.note(KEEP, keep.describe(), "disclosed" if keep.votes else "public")
    job_digest = channel.job_digest if keep.is_on else b""
    return ChangeSums(settings, aggregation, stopwatch, job_digest=job_digest, digest_key=digest_key)


class ChangeSums:
    """One party's part in the sums of its changes; their means go into the calls' results."""

    def __init__(
        self,
        settings: SumSettings,
        aggregation: Aggregation,
        stopwatch: Stopwatch,
        *,
        job_digest: bytes,
        digest_key: bytes,
    ) -> None:
        """`job_digest` is public, and equal at all parties; `digest_key` theirs alone."""
        self._settings, self._aggregation, self._stopwatch = settings, aggregation, stopwatch
        self._norm = UpdateNorm(settings)
        self._kept = KeptChanges(IndexSets(settings, job_digest, digest_key))

    @property
    def why_changes(self) -> str:
        """Why values that not all parties hold already cannot be sent; "" where they can."""
        if self._norm.is_on:
            return "max_norm bounds changes"
        return "keep sends parts of changes" if self._settings.keep.is_on else ""

    def begin_anew(self, call: Call) -> None:
        """All parties begin with the same values of the call's tensors, and owe nothing of them."""
        self._kept.forget(call)

    def check_mask(self, mask: Mask | None) -> None:
        """Refuse a mask where parts are sent: it chooses among all values, and most of them are not there."""
        if mask is not None and self._settings.keep.is_on:
            raise InputError(
                "a mask cannot choose what is masked where keep leaves values at home",
                expected="either keep below 1, or a mask",
                got="both",
                cure="leave the mask out: the values that keep sends are all masked, in fewer bytes",
            )

    def sum(self, call: Call, weight: int, step: str, policy: ClippingPolicy, mask: Mask | None) -> Summed:
        """The sum of `step`; `mask` as in `SumRequest`. Raises LongSumError, and as `Aggregation.weighted_mean`."""
        if self._settings.keep.is_on:
            return self._sum_kept(call, weight, step, policy)
        return self._sum_whole(call, weight, step, policy, mask)

    def _sum_whole(self, call: Call, weight: int, step: str, policy: ClippingPolicy, mask: Mask | None) -> Summed:
        """All values, read from the call's tensors and written to their results in pieces."""
        settings = self._settings
        with self._stopwatch.measure("encode"):
            streams, factor = self._norm.limit_streamed(dict(call.tensors))
        scaled = scale_streamed(streams, weight, settings.weight_max)
        bounds = policy.bounds_for(self._aggregation, step, scaled)
        with self._stopwatch.measure("encode"):
            counters = policy.counters_for(scaled, bounds, len(settings.parties))
            counters += self._norm.counters_for(factor)
        aggregate = self._aggregation.weighted_mean(SumRequest(step, streams, bounds, weight, counters, mask=mask))
        self._norm.check_streamed(step, aggregate, streams, bounds)
        policy.learn(aggregate.counters, sizes_of(scaled), aggregate.party_count)
        return Summed(aggregate, sizes_of(scaled), bounds)

    def _sum_kept(self, call: Call, weight: int, step: str, policy: ClippingPolicy) -> Summed:
        """The values that the parties agree on; the others stay as they were, and are owed."""
        settings = self._settings
        kept, factor = self._norm.limit(self._kept.take(self._aggregation, step, call))
        scaled = scale_by_weight(kept, weight, settings.weight_max)
        bounds = policy.bounds_for(self._aggregation, step, scaled)
        with self._stopwatch.measure("encode"):
            counters = policy.counters_for(scaled, bounds, len(settings.parties))
            counters += self._norm.counters_for(factor)
        request = SumRequest(step, kept, bounds, weight, counters)
        aggregate = self._aggregation.weighted_mean(request)
        self._norm.check(step, aggregate, bounds)
        policy.learn(aggregate.counters, sizes_of(scaled), aggregate.party_count)
        with self._stopwatch.measure("decode"):
            self._kept.receive(call, aggregate.mean, kept, self._aggregation.as_sent(request))
        return Summed(aggregate, sizes_of(scaled), bounds)
