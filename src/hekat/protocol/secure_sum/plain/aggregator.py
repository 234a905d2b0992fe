"""The aggregator's side of protection `none`: the weighted mean of updates in the clear."""

from __future__ import annotations

import numpy as np

from hekat.codec.counters import plain_counters
from hekat.engine.limbs import ints_from_limbs
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.participation import participation_of
from hekat.protocol.secure_sum.plain.blocks import BlockSums
from hekat.protocol.secure_sum.plain.message_checks import check_plain_update
from hekat.protocol.secure_sum.plain.messages import (
    PlainBlockMessage,
    PlainMeanBlockMessage,
    PlainMeanMessage,
    PlainUpdateMessage,
)
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.summation import Summation
from hekat.protocol.stopwatch import Stopwatch


class PlainSummation(Summation):
    """The weighted mean of updates in the clear: protection `none`."""

    def __init__(self, channel: RecordedChannel, settings: SumSettings, stopwatch: Stopwatch) -> None:
        self._channel, self._settings, self._stopwatch = channel, settings, stopwatch
        self._participation = participation_of(channel, settings)
        self._most_values = 0

    def bound_slots(self, most_slots: int) -> None:
        """Accept no blocks of more values from now on; before the first call, accept none."""
        self._most_values = most_slots

    def parties_in(self, step: str) -> tuple[str, ...]:
        """Who uploads in the step."""
        return self._participation.parties_in(step)

    def serve(self, step: str, then: str = "") -> None:
        parties = self.parties_in(step)
        updates: list[PlainUpdateMessage] = []
        sums = BlockSums(0)
        for party in parties:
            update = self._channel.receive(party, f"{step}/update", PlainUpdateMessage)
            check_plain_update(
                update, party, step, (updates or [update])[0], self._settings.weight_max, self._most_values
            )
            if not updates:
                sums = BlockSums(update.block_count)
            updates.append(update)
            for index in range(update.block_count):
                block = self._channel.receive(party, f"{step}/block", PlainBlockMessage)
                with self._stopwatch.measure("aggregate"):
                    sums.add(index, block.values, update.weight, party, step)
        with self._stopwatch.measure("aggregate"):
            weight_sum = sum(update.weight for update in updates)
            values = sum((u.values * u.weight for u in updates), np.zeros_like(updates[0].values)) / weight_sum
            counters = [sum(column) for column in zip(*(ints_from_limbs(u.counters) for u in updates), strict=True)]
            message = PlainMeanMessage(values=values, weight_sum=weight_sum, counters=plain_counters(counters))
        self._send_to_all(f"{step}/sum", message)
        for mean in sums.means(weight_sum):
            self._send_to_all(f"{step}/sum-block", PlainMeanBlockMessage(mean))

    def _send_to_all(self, step: str, message: PlainMeanMessage | PlainMeanBlockMessage) -> None:
        with self._channel.encoding_once(message):
            for party in self._settings.parties:
                self._channel.send(party, step, message)
