"""The base of a party's side under every protection: samples, fitted bounds, a round's end, answers not awaited yet."""

from __future__ import annotations

from collections.abc import Callable

from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.agreement.agree_on_bounds import agree_on_bounds
from hekat.protocol.secure_sum.agreement.final_model import compare_final_models
from hekat.protocol.secure_sum.agreement.round_end import receive_agreed, tell_round_end
from hekat.protocol.secure_sum.participation import participation_of
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors


class PartySide:
    """The messages of an `Aggregation` beside its sums. `timeout_s`: how long the party waits for the aggregator."""

    def __init__(self, channel: RecordedChannel, settings: SumSettings, timeout_s: float | None = None) -> None:
        self._channel, self._settings, self._timeout_s = channel, settings, timeout_s
        self._participation = participation_of(channel, settings)
        self._owed: list[Callable[[], None]] = []

    def parties_in(self, step: str) -> tuple[str, ...]:
        return self._participation.parties_in(step)

    def takes_part(self, step: str) -> bool:
        return self._channel.party in self.parties_in(step)

    def defer(self, receive: Callable[[], None]) -> None:
        self._owed.append(receive)

    def settle(self) -> None:
        while self._owed:
            self._owed.pop(0)()

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        self.settle()
        channel, aggregator, takes_part = self._channel, self._settings.aggregator, self.takes_part(step)
        return agree_on_bounds(channel, aggregator, step, scaled, takes_part=takes_part, timeout_s=self._timeout_s)

    def agree_on(self, digest: bytes) -> None:
        return None

    def say_next(self, step: str, digest: bytes, is_last: bool) -> None:
        self._tell_end(step, digest, is_last)

    def end_group(self) -> None:
        return None

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        self._tell_end(step, model_digest, finished)

    def _tell_end(self, step: str, digest: bytes, is_last: bool) -> None:
        channel, aggregator, timeout_s = self._channel, self._settings.aggregator, self._timeout_s
        tell_round_end(channel, aggregator, step, digest, is_last)
        self.defer(lambda: receive_agreed(channel, aggregator, step, timeout_s=timeout_s))

    def close(self) -> None:
        return None

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        self.settle()
        return compare_final_models(self._channel, self._settings, digest, timeout_s=self._timeout_s)
