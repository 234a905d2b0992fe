"""What a party asks of the others: sums of counters and weighted means, whatever protects them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors

FloatArray = npt.NDArray[np.float64]
Tensors = dict[str, FloatArray]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class Counter:
    """A non-negative integer that travels beside an update; `maximum` is public, `value` is not."""

    name: str
    value: int = field(repr=False)
    maximum: int


@dataclass(frozen=True)
class Aggregate:
    """What every party holds after one sum: the weighted mean of all updates and the sums of the counters."""

    mean: Tensors
    weight_sum: int
    counters: dict[str, int]
    party_count: int
    """How many parties' updates are in it."""
    parties: tuple[str, ...] = ()
    """Whose these are; empty where that is not told: then every party's is."""


class Aggregation(Protocol):
    """One party's side of the sums. `clips` says whether values must fit a bound (a packed lane) or not (a float)."""

    @property
    def clips(self) -> bool: ...

    def takes_part(self, step: str) -> bool:
        """Whether this party is in the step's sample.

        Else it passes zeros of the same form below; they are sent nowhere, and it receives the sum of the others.
        """
        ...

    def sum_counters(self, step: str, counters: Sequence[Counter], *, value_bits: int | None = None) -> dict[str, int]:
        """The sum of each counter over all parties, exact; `value_bits` 1 packs yes-or-no counters most tightly."""
        ...

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
        """sum(weight * tensor) / sum(weight) over all parties, each scaled value clipped to +-bounds[tensor].

        What is clipped and quantised is tensor * weight / weight_max (`scale_by_weight`), so that value and weight
        are scaled by the same integer and the mean is not biased. `value_bits` None means the codec's setting.
        """
        ...

    def as_sent(self, step: str, tensors: Tensors, bounds: Mapping[str, float], weight: int) -> Tensors:
        """What the sum of `weighted_mean` holds of this party's tensors: clipped, rounded, in units of the update.

        Stochastic rounding cannot be told beforehand: then values are clipped only, right on average.
        """
        ...

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        """Clipping bounds fitted to the extreme values over all parties (`daciq`)."""
        ...

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        """Compare models with the others and agree to go on or to stop. Raises where they differ."""
        ...

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        """Compare what training ended with, with each party; those with whom it could not. Raises where it differs."""
        ...


def scale_by_weight(tensors: Tensors, weight: int, weight_max: int) -> Tensors:
    """What is quantised for a weighted sum: each value times weight / weight_max, so never larger than the value."""
    factor = weight / weight_max
    return {name: values * factor for name, values in tensors.items()}


class Alone:
    """The aggregation of one party by itself, for comparison: every mean is its own value."""

    clips = False

    def takes_part(self, step: str) -> bool:
        return True

    def sum_counters(self, step: str, counters: Sequence[Counter], *, value_bits: int | None = None) -> dict[str, int]:
        return {counter.name: counter.value for counter in counters}

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
        return Aggregate(dict(tensors), weight, self.sum_counters(step, counters), 1)

    def as_sent(self, step: str, tensors: Tensors, bounds: Mapping[str, float], weight: int) -> Tensors:
        return tensors

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        return dict.fromkeys(scaled, math.inf)

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        return None

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        return ()


def flatten(tensors: Tensors) -> FloatArray:
    """All values in one vector, tensors in the order of their names."""
    return np.concatenate([tensors[name].ravel() for name in sorted(tensors)] or [np.zeros(0)])


def unflatten(values: npt.NDArray[Scalar], like: Tensors) -> dict[str, npt.NDArray[Scalar]]:
    """The inverse of `flatten` for tensors of the shapes of `like`; floats or integers, as `values` are."""
    result: dict[str, npt.NDArray[Scalar]] = {}
    start = 0
    for name in sorted(like):
        size = like[name].size
        result[name] = values[start : start + size].reshape(like[name].shape)
        start += size
    return result
