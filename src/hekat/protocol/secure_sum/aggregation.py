"""A party's interface to the sums: sums of counters and weighted means, under any protection."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.codec.quantise import IntArray
from hekat.errors import PolicyError
from hekat.privacy.mask import Mask
from hekat.protocol.secure_sum.streamed_tensor import AnyTensors, ScaledTensors, Tensors, gather, hand_out

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
    """The parties whose updates are in it; empty where all parties' are."""
    sums: dict[str, IntArray] = field(default_factory=dict)
    """Of int64 tensors that were summed as integers, exactly; their means are not in `mean` then."""


@dataclass(frozen=True)
class SumRequest:
    """One sum that a party asks for in `step`, and its own part of it: tensors, their weight, counters.

    Each scaled value, tensor * weight / weight_max (`scale_by_weight`), is clipped to +-bounds[tensor] and quantised to
    `value_bits` (None: the codec's setting; 1 packs yes-or-no counters most tightly). Value and weight are scaled by
    the same integer, so the mean is not biased. Tensors are arrays, or streams that are read and given their mean in
    pieces. A request without tensors is for the counters alone. `values_ahead`: of how many values the tensors of the
    round are that this sum goes ahead of; None where it goes ahead of none. `recodes`: a request for counters alone,
    whose digits may be of any other number of bits, where that saves a secret (`lattice`). Tensors of int64 are as ones
    of the same floats, of weight 1 and bounded by the largest level / weight_max, so that each value is a level: where
    levels are summed without passing through floats, the aggregate has their `sums`. `mask` (`lattice`): the values of
    the tensors that are protected; all others go to the aggregator in the clear, as levels. None: all are protected.
    """

    step: str
    tensors: AnyTensors = field(default_factory=dict, repr=False)
    bounds: Mapping[str, float] = field(default_factory=dict)
    weight: int = field(default=1, repr=False)
    counters: Sequence[Counter] = ()
    value_bits: int | None = None
    values_ahead: int | None = None
    recodes: bool = False
    mask: Mask | None = None


class Aggregation(Protocol):
    """One party's side of the sums. `clips` says whether values must fit a bound (a packed slot) or not (a float)."""

    @property
    def clips(self) -> bool: ...

    def parties_in(self, step: str) -> tuple[str, ...]:
        """The parties in the step's sample: every role knows them by itself, whoever drops out then."""
        ...

    def takes_part(self, step: str) -> bool:
        """Whether this party is in the step's sample.

        A party outside of the sample asks with zeros of the same form: it sends nothing, and receives the others' sum.
        """
        ...

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        """sum(weight * tensor) / sum(weight) over all parties, and the exact sum of each counter.

        Streamed tensors take their mean themselves; `Aggregate.mean` holds the arrays' means.
        """
        ...

    def as_sent(self, request: SumRequest) -> Tensors:
        """This party's arrays as the sum of `weighted_mean` holds them: clipped, rounded, in units of the update.

        Stochastic rounding cannot be foretold: under it the values are only clipped, right on average.
        """
        ...

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        """Clipping bounds fitted to the extreme values over all parties (`daciq`)."""
        ...

    def agree_on(self, digest: bytes) -> None:
        """No sum of this round opens with an update of a party that gives another digest (`lattice`).

        `digest` is keyed, of what the parties take to be alike besides the model.
        """
        ...

    def say_next(self, step: str, digest: bytes, is_last: bool) -> None:
        """Tell whether the sum of `step` is the last one of a series whose length the parties find out.

        `digest`: keyed, of what they hold then, for the comparison with the others'. Neither is told by itself where
        the next upload says as much: under `lattice` with a committee it names its sum, and is masked under a key that
        follows from what its party holds.
        """
        ...

    def end_group(self) -> None:
        """Wipe the secrets of the group at hand: it has no further sum."""
        ...

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        """Tell this party's model for the comparison with the others', and whether it stops here.

        The answer is not awaited: where models differ, a later call raises, at the latest `settle`.
        """
        ...

    def defer(self, receive: Callable[[], None]) -> None:
        """Run `receive`, which takes a message of the aggregator, before any later message of it is taken."""
        ...

    def settle(self) -> None:
        """Take every answer of the aggregator that was not awaited yet. Raises what such an answer says."""
        ...

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        """Compare the result of training with every party; the parties that could not be compared with.

        Raises ModelsDifferError where another party holds another result.
        """
        ...

    def close(self) -> None:
        """Wipe what was kept for sums that will not be. Call it however the role ends."""
        ...


def sum_counters(
    aggregation: Aggregation,
    step: str,
    counters: Sequence[Counter],
    *,
    value_bits: int | None = None,
    values_ahead: int | None = None,
    recodes: bool = False,
) -> dict[str, int]:
    """The exact sum of each counter over all parties, by name; `values_ahead` and `recodes` as in SumRequest."""
    request = SumRequest(step, counters=counters, value_bits=value_bits, values_ahead=values_ahead, recodes=recodes)
    return aggregation.weighted_mean(request).counters


def refuse_mask(request: SumRequest, protection: str) -> None:
    """Raise PolicyError for a request with a mask, under a protection that has no selective sums."""
    if request.mask is not None:
        raise PolicyError(
            f"protection {protection!r} cannot mask a part of an update",
            expected="protection 'lattice' for selective sums",
            got=f"a mask in {request.step} under {protection!r}",
            cure="take protection 'lattice', or leave the mask out",
        )


def scale_by_weight(tensors: Tensors, weight: int, weight_max: int) -> Tensors:
    """What is quantised for a weighted sum: each value times weight / weight_max, never larger than the value."""
    factor = weight / weight_max
    return {name: values * factor for name, values in tensors.items()}


class Alone:
    """The aggregation of one party by itself, for comparison: every mean is its own value."""

    clips = False

    def parties_in(self, step: str) -> tuple[str, ...]:
        return ("alone",)

    def takes_part(self, step: str) -> bool:
        return True

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        counters = {counter.name: counter.value for counter in request.counters}
        return Aggregate(hand_out(gather(request.tensors), request.tensors), request.weight, counters, 1)

    def as_sent(self, request: SumRequest) -> Tensors:
        return gather(request.tensors)

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        return dict.fromkeys(scaled, math.inf)

    def agree_on(self, digest: bytes) -> None:
        return None

    def say_next(self, step: str, digest: bytes, is_last: bool) -> None:
        return None

    def end_group(self) -> None:
        return None

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        return None

    def defer(self, receive: Callable[[], None]) -> None:
        return None

    def settle(self) -> None:
        return None

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        return None


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
