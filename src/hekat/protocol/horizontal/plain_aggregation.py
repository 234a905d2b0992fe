"""A party's side of protection `none`: the same rounds with nothing encrypted, for comparison, and loudly so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hekat.engine.limbs import ints_from_limbs
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.aggregation import Aggregate, Counter, Tensors, flatten, unflatten
from hekat.protocol.horizontal.counters import plain_counters
from hekat.protocol.horizontal.messages import PlainMeanMessage, PlainUpdateMessage
from hekat.protocol.horizontal.received import check_plain_mean
from hekat.protocol.horizontal.round_end import finish_round
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.stopwatch import Stopwatch


class PlainAggregation:
    """Sends float64 updates in the clear to the aggregator, which returns their weighted mean."""

    clips = False

    def __init__(self, channel: RecordedChannel, settings: HorizontalSettings, stopwatch: Stopwatch) -> None:
        self._channel, self._settings, self._stopwatch = channel, settings, stopwatch

    def sum_counters(self, step: str, counters: Sequence[Counter], *, value_bits: int | None = None) -> dict[str, int]:
        return self.weighted_mean(step, {}, {}, 1, counters, value_bits=value_bits).counters

    def weighted_mean(
        self,
        step: str,
        tensors: Tensors,
        bounds: Mapping[str, float],
        weight: int,
        counters: Sequence[Counter] = (),
        *,
        value_bits: int | None = None,
    ) -> Aggregate:
        aggregator = self._settings.aggregator
        with self._stopwatch.measure("encode"):
            values = plain_counters([counter.value for counter in counters])
            update = PlainUpdateMessage(values=flatten(tensors), weight=weight, counters=values)
        self._channel.send(aggregator, f"{step}/update", update)
        mean = self._channel.receive(aggregator, f"{step}/sum", PlainMeanMessage)
        with self._stopwatch.measure("decode"):
            check_plain_mean(mean, aggregator, step, update, self._settings)
            totals = ints_from_limbs(mean.counters)
            sums = {counter.name: total for counter, total in zip(counters, totals, strict=True)}
            means = unflatten(mean.values, tensors)
            return Aggregate(means, mean.weight_sum, sums, len(self._settings.parties))

    def agree_on_bounds(self, step: str, scaled: Tensors) -> dict[str, float]:
        return dict.fromkeys(scaled, math.inf)

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        finish_round(self._channel, self._settings.aggregator, step, model_digest, finished)
