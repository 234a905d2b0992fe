"""A party's side of protection `none`: the same rounds with nothing encrypted, for comparison, and loudly so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hekat.engine.limbs import ints_from_limbs
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.secure_sum.aggregation import Aggregate, Counter, Tensors, flatten, unflatten
from hekat.protocol.secure_sum.counters import plain_counters
from hekat.protocol.secure_sum.final_model import compare_final_models
from hekat.protocol.secure_sum.message_checks import check_plain_mean
from hekat.protocol.secure_sum.participation import NOT_SAMPLED, participation_of
from hekat.protocol.secure_sum.plain.messages import PlainMeanMessage, PlainUpdateMessage
from hekat.protocol.secure_sum.round_end import finish_round
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors
from hekat.protocol.secure_sum.update_codec import check_total
from hekat.protocol.stopwatch import Stopwatch


class PlainAggregation:
    """Sends float64 updates in the clear to the aggregator, which returns their weighted mean."""

    clips = False

    def __init__(self, channel: RecordedChannel, settings: HorizontalSettings, stopwatch: Stopwatch) -> None:
        self._channel, self._settings, self._stopwatch = channel, settings, stopwatch
        self._participation = participation_of(channel, settings)

    def takes_part(self, step: str) -> bool:
        return self._channel.party in self._participation.parties_in(step)

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
        aggregator, parties = self._settings.aggregator, tuple(self._participation.parties_in(step))
        with self._stopwatch.measure("encode"):
            values = plain_counters([counter.value for counter in counters])
            update = PlainUpdateMessage(values=flatten(tensors), weight=weight, counters=values)
        if self.takes_part(step):
            self._channel.send(aggregator, f"{step}/update", update)
        else:
            self._channel.ledger.note(step, NOT_SAMPLED, "public")
        mean = self._channel.receive(aggregator, f"{step}/sum", PlainMeanMessage)
        with self._stopwatch.measure("decode"):
            check_plain_mean(mean, aggregator, step, update, len(parties), self._settings.weight_max)
            totals = ints_from_limbs(mean.counters)
            for counter, total in zip(counters, totals, strict=True):
                check_total(f"the sum of counter {counter.name!r}", total, 0, len(parties) * counter.maximum)
            sums = {counter.name: total for counter, total in zip(counters, totals, strict=True)}
            means = unflatten(mean.values, tensors)
            return Aggregate(means, mean.weight_sum, sums, len(parties), parties)

    def as_sent(self, step: str, tensors: Tensors, bounds: Mapping[str, float], weight: int) -> Tensors:
        return tensors

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        return dict.fromkeys(scaled, math.inf)

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        finish_round(self._channel, self._settings.aggregator, step, model_digest, finished)

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        return compare_final_models(self._channel, self._settings, digest)
