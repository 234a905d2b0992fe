"""The sums of a job with differential privacy: of noised levels alone; every other sum is refused, whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from hekat.errors import PolicyError
from hekat.protocol.secure_sum.aggregation import Aggregate, Aggregation, SumRequest
from hekat.protocol.secure_sum.integer_sums import IntArray, IntegerSums, sum_integers
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors, Tensors


class NoisedSums(Aggregation):
    """One party's side of the sums: what passes is noised. An exact counter beside it would undo the claim."""

    def __init__(self, aggregation: Aggregation, *, lane_bits: int, weight_max: int) -> None:
        self._inner = aggregation
        self._maximum, self._weight_max = (1 << (lane_bits - 1)) - 1, weight_max

    def sum_noised(self, step: str, levels: Mapping[str, IntArray]) -> IntegerSums:
        """The exact sums of all parties' noised levels. An opening that fails is repeated with the same levels.

        Raises BoundError for levels beyond the lane: they were not made for it.
        """
        return sum_integers(self._inner, step, levels, maximum=self._maximum, weight_max=self._weight_max)

    @property
    def weight_max(self) -> int:
        """The public bound on a party's rows."""
        return self._weight_max

    @property
    def clips(self) -> bool:
        return self._inner.clips

    def parties_in(self, step: str) -> tuple[str, ...]:
        return self._inner.parties_in(step)

    def takes_part(self, step: str) -> bool:
        return self._inner.takes_part(step)

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        _refuse(request.step, [counter.name for counter in request.counters])

    def as_sent(self, request: SumRequest) -> Tensors:
        _refuse(request.step, [])

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        _refuse(step, [])

    def agree_on(self, digest: bytes) -> None:
        self._inner.agree_on(digest)

    def say_next(self, step: str, digest: bytes, is_last: bool) -> None:
        self._inner.say_next(step, digest, is_last)

    def end_group(self) -> None:
        self._inner.end_group()

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        self._inner.finish_round(step, model_digest, finished)

    def defer(self, receive: Callable[[], None]) -> None:
        self._inner.defer(receive)

    def settle(self) -> None:
        self._inner.settle()

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        return self._inner.compare_final(digest)

    def close(self) -> None:
        self._inner.close()


def _refuse(step: str, counters: list[str]) -> NoReturn:
    raise PolicyError(
        f"an exact sum was asked for in {step} of a job with differential privacy",
        expected="sums of noised levels alone",
        got=f"counters {', '.join(counters[:5])}" if counters else "values without noise",
        cure="this is a defect in Hekat where rows and job are as stated: please report it",
    )
