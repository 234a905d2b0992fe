"""The clipping bound of each tensor, round by round, by the policy the job names.

`adaptive` keeps the bound within a factor of four of what the values need: counts of values beyond the bound and beyond
a quarter of it travel as encrypted counters; too many beyond the bound double it (if most are, it grows sixteenfold),
too few beyond a quarter halve it. The first bound comes from one encrypted histogram of exponents; a tensor that was
all zero starts with the largest bound of the others. Parties learn sums of counts, the aggregator nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.errors import InputError
from hekat.protocol.secure_sum.aggregation import Aggregation, Counter, sum_counters
from hekat.protocol.secure_sum.exponents import LEAST_EXPONENT, MOST_EXPONENT, exponents_of
from hekat.protocol.secure_sum.settings import MAX_ALPHA, MIN_ALPHA, CodecSettings
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensor, ScaledTensors, pieces_of

HEADROOM = 16
# Wide enough that digits of counts hide what they do not say.
_HISTOGRAM_BITS = 16


class ClippingPolicy(Protocol):
    """Decides bounds before a sum and learns from the counters after it.

    `known` are the bounds in a checkpoint; empty where the policy learns none.
    """

    known: dict[str, float]

    def bounds_for(self, aggregation: Aggregation, step: str, scaled: ScaledTensors) -> dict[str, float]: ...

    def counters_for(self, scaled: ScaledTensors, bounds: dict[str, float], party_count: int) -> list[Counter]: ...

    def learn(self, sums: dict[str, int], sizes: dict[str, int], party_count: int) -> None: ...


def make_policy(
    codec: CodecSettings,
    aggregation: Aggregation,
    known_bounds: dict[str, float] | None = None,
    *,
    searches_line: bool = False,
) -> ClippingPolicy:
    """The policy the settings name, or none where nothing is packed; `known_bounds` come from a checkpoint.

    A clipped slope would mislead a line search, which `searches_line` says.
    """
    if not aggregation.clips:
        return Unclipped()
    if searches_line:
        return WideBounds(known_bounds)
    if codec.clipping == "adaptive":
        return AdaptiveClipping(codec.target_clipped_fraction, codec.alpha, known_bounds)
    if codec.clipping == "daciq":
        return FittedClipping()
    if codec.alpha is None:
        raise InputError("fixed clipping has no bound", expected="codec.alpha", got="nothing", cure="set codec.alpha")
    return FixedClipping(codec.alpha)


def clipped_counters(scaled: ScaledTensors, bounds: dict[str, float]) -> list[Counter]:
    """How many values of each tensor lie beyond its bound."""
    return [_counter(f"clipped/{name}", values, _count_beyond(values, bounds[name])) for name, values in scaled.items()]


def _counter(name: str, values: FloatArray | ScaledTensor, count: int) -> Counter:
    return Counter(name, count, maximum=max(1, values.size))


def _count_beyond(values: FloatArray | ScaledTensor, bound: float) -> int:
    return sum(int(np.count_nonzero(np.abs(piece) > bound)) for piece in pieces_of(values))


def _count_beyond_both(values: FloatArray | ScaledTensor, bound: float) -> tuple[int, int]:
    """Values beyond the bound, and beyond a quarter of it, in one pass."""
    clipped = near = 0
    for piece in pieces_of(values):
        magnitudes = np.abs(piece)
        clipped += int(np.count_nonzero(magnitudes > bound))
        near += int(np.count_nonzero(magnitudes > bound / 4))
    return clipped, near


class Unclipped:
    """No bound: floats travel as they are."""

    def __init__(self) -> None:
        self.known: dict[str, float] = {}

    def bounds_for(self, aggregation: Aggregation, step: str, scaled: ScaledTensors) -> dict[str, float]:
        return dict.fromkeys(scaled, math.inf)

    def counters_for(self, scaled: ScaledTensors, bounds: dict[str, float], party_count: int) -> list[Counter]:
        return []

    def learn(self, sums: dict[str, int], sizes: dict[str, int], party_count: int) -> None:
        return None


class FixedClipping:
    """One public bound for every tensor; learns nothing, discloses nothing but the number of clipped values."""

    def __init__(self, alpha: float) -> None:
        self._alpha = alpha
        self.known: dict[str, float] = {}

    def bounds_for(self, aggregation: Aggregation, step: str, scaled: ScaledTensors) -> dict[str, float]:
        return dict.fromkeys(scaled, self._alpha)

    def counters_for(self, scaled: ScaledTensors, bounds: dict[str, float], party_count: int) -> list[Counter]:
        return clipped_counters(scaled, bounds)

    def learn(self, sums: dict[str, int], sizes: dict[str, int], party_count: int) -> None:
        return None


class FittedClipping(FixedClipping):
    """dACIQ (BatchCrypt, ATC 2020, section 4.3): each round the aggregator fits a Gaussian to the parties' extremes."""

    def __init__(self) -> None:
        super().__init__(1.0)

    def bounds_for(self, aggregation: Aggregation, step: str, scaled: ScaledTensors) -> dict[str, float]:
        return aggregation.agree_on_bounds(step, scaled)


class AdaptiveClipping:
    """Follows the target fraction of clipped values with encrypted counts; see the file's opening."""

    def __init__(self, target_fraction: float, alpha: float | None, known: dict[str, float] | None = None) -> None:
        self._target = target_fraction
        self._alpha = alpha
        self.known: dict[str, float] = dict(known or {})

    def bounds_for(self, aggregation: Aggregation, step: str, scaled: ScaledTensors) -> dict[str, float]:
        if not self.known and self._alpha is not None:
            self.known = dict.fromkeys(scaled, self._alpha)
        if not self.known:
            histogram = exponent_counters(scaled)
            values = sum(one.size for one in scaled.values())
            sums = sum_counters(
                aggregation, f"{step}/exponents", histogram, value_bits=_HISTOGRAM_BITS, values_ahead=values
            )
            found = {name: self._first_bound(name, sums) for name in scaled}
            # An all-zero tensor says nothing about its later size, and the smallest bound would take many rounds to
            # grow.
            widest = max(bound for bound in (*found.values(), MIN_ALPHA))
            unseen = widest if widest > MIN_ALPHA else 1.0
            self.known = {name: unseen if bound == MIN_ALPHA else bound for name, bound in found.items()}
        return dict(self.known)

    def _first_bound(self, name: str, sums: dict[str, int]) -> float:
        """The least power of two with at most the target fraction of all values beyond it."""
        counts = [sums[f"exponent/{name}/{exponent}"] for exponent in range(LEAST_EXPONENT, MOST_EXPONENT + 1)]
        allowed = self._target * sum(counts)
        beyond = 0
        for exponent in range(MOST_EXPONENT, LEAST_EXPONENT - 1, -1):
            beyond += counts[exponent - LEAST_EXPONENT]
            if beyond > allowed:
                return 2.0**exponent
        return MIN_ALPHA

    def counters_for(self, scaled: ScaledTensors, bounds: dict[str, float], party_count: int) -> list[Counter]:
        counts = {name: _count_beyond_both(values, bounds[name]) for name, values in scaled.items()}
        clipped = [_counter(f"clipped/{name}", scaled[name], count) for name, (count, _) in counts.items()]
        return clipped + [_counter(f"near/{name}", scaled[name], count) for name, (_, count) in counts.items()]

    def learn(self, sums: dict[str, int], sizes: dict[str, int], party_count: int) -> None:
        for name, bound in self.known.items():
            value_count = sizes[name] * party_count
            if not value_count:
                continue  # nothing of this tensor was sent
            allowed = self._target * value_count
            clipped = sums[f"clipped/{name}"]
            if clipped > allowed:
                factor = 16 if clipped > value_count / 2 else 2
                self.known[name] = min(bound * factor, MAX_ALPHA)
            elif sums[f"near/{name}"] <= allowed:
                self.known[name] = max(bound / 2, MIN_ALPHA)


class WideBounds(AdaptiveClipping):
    """No value is to be clipped: HEADROOM times the first round's largest one; where one is beyond it all the same, the
    round is known for it and the bound grows."""

    def __init__(self, known: dict[str, float] | None = None) -> None:
        super().__init__(0.0, None, known)

    def bounds_for(self, aggregation: Aggregation, step: str, scaled: ScaledTensors) -> dict[str, float]:
        is_first = not self.known
        bounds = super().bounds_for(aggregation, step, scaled)
        if is_first:
            self.known = {name: min(bound * HEADROOM, MAX_ALPHA) for name, bound in bounds.items()}
        return dict(self.known)

    def counters_for(self, scaled: ScaledTensors, bounds: dict[str, float], party_count: int) -> list[Counter]:
        return clipped_counters(scaled, bounds)

    def learn(self, sums: dict[str, int], sizes: dict[str, int], party_count: int) -> None:
        for name, bound in self.known.items():
            if sums[f"clipped/{name}"]:
                self.known[name] = min(bound * HEADROOM, MAX_ALPHA)


def exponent_counters(tensors: ScaledTensors) -> list[Counter]:
    """Each tensor's histogram of exponents: bin e counts values in (2^(e-1), 2^e]; the end bins take the rest.

    The lowest bin counts only zeros, and the next one all small values, so that a tensor of small values has a bound.
    """
    counters: list[Counter] = []
    for name, values in tensors.items():
        counts = np.zeros(MOST_EXPONENT - LEAST_EXPONENT + 1, np.int64)
        for piece in pieces_of(values):
            exponents = np.clip(exponents_of(piece), LEAST_EXPONENT + 1, MOST_EXPONENT)
            bins = np.where(piece == 0, 0, exponents - LEAST_EXPONENT)
            counts += np.bincount(bins, minlength=counts.size)
        counters += [
            Counter(f"exponent/{name}/{exponent}", int(count), maximum=max(1, values.size))
            for exponent, count in zip(range(LEAST_EXPONENT, MOST_EXPONENT + 1), counts, strict=True)
        ]
    return counters


def sizes_of(tensors: ScaledTensors) -> dict[str, int]:
    """Values in each tensor."""
    return {name: int(values.size) for name, values in tensors.items()}


def clipped_by_tensor(sums: dict[str, int], names: Sequence[str]) -> dict[str, int]:
    """Clipped values over all parties of each named tensor that was counted; empty where nothing is clipped."""
    return {name: sums[f"clipped/{name}"] for name in names if f"clipped/{name}" in sums}


def total_clipped(sums: dict[str, int], names: Sequence[str]) -> int:
    """Clipped values over all parties and the named tensors; 0 where nothing is clipped."""
    return sum(clipped_by_tensor(sums, names).values())
