"""A party's side of protection `none`: the same rounds with nothing encrypted, for comparison, and loudly so."""

from __future__ import annotations

import math

from hekat.codec.counters import plain_counters
from hekat.engine.limbs import ints_from_limbs
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.aggregation import Aggregate, SumRequest, flatten, refuse_mask, unflatten
from hekat.protocol.secure_sum.participation import NOT_SAMPLED
from hekat.protocol.secure_sum.party_side import PartySide
from hekat.protocol.secure_sum.plain.blocks import layout_of
from hekat.protocol.secure_sum.plain.message_checks import check_plain_mean
from hekat.protocol.secure_sum.plain.messages import (
    PlainBlockMessage,
    PlainMeanBlockMessage,
    PlainMeanMessage,
    PlainUpdateMessage,
)
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors, Tensors, gather, hand_out
from hekat.protocol.secure_sum.update_codec import check_total
from hekat.protocol.stopwatch import Stopwatch


class PlainAggregation(PartySide):
    """Sends updates in the clear to the aggregator, which returns their mean: float64, or float32 in blocks."""

    clips = False

    def __init__(self, channel: RecordedChannel, settings: SumSettings, stopwatch: Stopwatch) -> None:
        super().__init__(channel, settings)
        self._stopwatch = stopwatch

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        refuse_mask(request, self._settings.protection)
        self.settle()
        step, aggregator = request.step, self._settings.aggregator
        parties = tuple(self._participation.parties_in(step))
        blocks = layout_of(request.tensors)
        with self._stopwatch.measure("encode"):
            tensors = gather(request.tensors) if blocks is None else {}
            counters = plain_counters([counter.value for counter in request.counters])
            block_count = 0 if blocks is None else blocks.count
            update = PlainUpdateMessage(flatten(tensors), request.weight, counters, block_count)
        if self.takes_part(step):
            self._channel.send(aggregator, f"{step}/update", update)
            for values in () if blocks is None else blocks.read():
                self._channel.send(aggregator, f"{step}/block", PlainBlockMessage(values))
        else:
            self._channel.ledger.note(step, NOT_SAMPLED, "public")
        mean = self._channel.receive(aggregator, f"{step}/sum", PlainMeanMessage)
        with self._stopwatch.measure("decode"):
            check_plain_mean(mean, aggregator, step, update, len(parties), self._settings.weight_max)
            totals = ints_from_limbs(mean.counters)
            for counter, total in zip(request.counters, totals, strict=True):
                check_total(f"the sum of counter {counter.name!r}", total, 0, len(parties) * counter.maximum)
            sums = {counter.name: total for counter, total in zip(request.counters, totals, strict=True)}
            means = {} if blocks is not None else hand_out(unflatten(mean.values, tensors), request.tensors)
        for index in range(block_count):
            part = self._channel.receive(aggregator, f"{step}/sum-block", PlainMeanBlockMessage).values
            with self._stopwatch.measure("decode"):
                assert blocks is not None
                blocks.check_mean(index, part, aggregator, step)
                blocks.write(index, part)
        return Aggregate(means, mean.weight_sum, sums, len(parties), parties)

    def as_sent(self, request: SumRequest) -> Tensors:
        return gather(request.tensors)

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        return dict.fromkeys(scaled, math.inf)
