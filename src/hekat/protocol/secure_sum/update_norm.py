"""A bound on the length of one party's update: parties keep to it, and hold every mean that opens against it.

Nobody proves the length of an update under encryption: docs/decisions/0098-norms-are-not-proved.md says why. What all
parties can check is the mean. Updates of norm N at most have a mean of norm N at most, but for rounding; a longer one
is used by nobody, whoever made it longer, and the check does not tell who did. So no model ever moves by a mean longer
than 2 N, whatever one party or the aggregator sends. Of a set U, the scaled updates w_i / w_max * u_i sum up to S with
|S| <= |U| N; since the weights' sum W is at most |U| w_max, the check on the mean, |S| w_max / W <= N, implies that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hekat.codec import error_bound_sum
from hekat.codec.clip import FloatArray
from hekat.errors import LongSumError
from hekat.privacy.mask import BoolArray
from hekat.privacy.norm import norm_of, square_sum
from hekat.protocol.secure_sum.aggregation import Aggregate, Counter
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import (
    ScaledTensor,
    SelectableTensor,
    StreamedTensor,
    Tensors,
    pieces_of,
)
from hekat.protocol.secure_sum.update_codec import range_factor_of

SCALED_DOWN = "scaled_down"
"""The counter of updates that were longer than the bound."""
# Of float32 blocks under protection `none`, and of sums of squares in float64.
_FLOAT_SLACK = 2.0**-20


class UpdateNorm:
    """The settings' bound on the L2 norm of an update; without one, `max_norm` 0, nothing is scaled or refused."""

    def __init__(self, settings: SumSettings) -> None:
        self._settings, self._most = settings, settings.codec.max_norm

    @property
    def is_on(self) -> bool:
        """Whether the settings have a bound."""
        return self._most > 0

    def limit(self, update: Tensors) -> tuple[Tensors, float]:
        """The update, no longer than the bound, and the factor that made it so."""
        factor = self._factor_of(norm_of(update)) if self.is_on else 1.0
        if factor == 1.0:
            return update, factor
        return {name: values * factor for name, values in update.items()}, factor

    def limit_streamed(self, tensors: dict[str, SelectableTensor]) -> tuple[dict[str, SelectableTensor], float]:
        """As `limit`; what it gives is for `check_streamed` afterwards."""
        if not self.is_on:
            return tensors, 1.0
        wholes = [ScaledTensor(tensor, 1.0) for tensor in tensors.values()]
        factor = self._factor_of(math.sqrt(sum(square_sum(piece) for whole in wholes for piece in pieces_of(whole))))
        return {name: _LimitedTensor(tensor, factor) for name, tensor in tensors.items()}, factor

    def _factor_of(self, norm: float) -> float:
        return self._most / norm if norm > self._most else 1.0

    def counters_for(self, factor: float) -> list[Counter]:
        """How many updates of a sum were scaled down travels as their encrypted count."""
        return [Counter(SCALED_DOWN, int(factor < 1.0), maximum=1)] if self.is_on else []

    def check(self, step: str, aggregate: Aggregate, bounds: Mapping[str, float]) -> None:
        """Raise LongSumError where the mean is longer than any mean of updates that keep to the bound.

        Rounding may add to it what the codec states for tensors of these sizes and clipping bounds, but no more than
        the bound once more.
        """
        if self.is_on:
            sizes = {name: values.size for name, values in aggregate.mean.items()}
            self._check(step, aggregate, norm_of(aggregate.mean), sizes, bounds)

    def check_streamed(
        self, step: str, aggregate: Aggregate, tensors: Mapping[str, StreamedTensor], bounds: Mapping[str, float]
    ) -> None:
        """As `check`, of the means that tensors of `limit_streamed` were given."""
        limited = [tensor for tensor in tensors.values() if isinstance(tensor, _LimitedTensor)]
        if limited:
            norm = math.sqrt(sum(tensor.square_sum for tensor in limited))
            self._check(step, aggregate, norm, {name: tensor.size for name, tensor in tensors.items()}, bounds)

    def _check(
        self, step: str, aggregate: Aggregate, norm: float, sizes: Mapping[str, int], bounds: Mapping[str, float]
    ) -> None:
        rounding = self._rounding_of(aggregate, sizes, bounds)
        most = self._most * (1 + _FLOAT_SLACK) + min(rounding, self._most)
        if not norm <= most:  # so is a norm that is no number
            raise LongSumError(
                f"the sum of {step} is longer than honest updates make it: nothing of it was used",
                expected=f"a mean of norm {most:.6g} at most, of updates of norm {self._most:g} at most",
                got="a longer one",
                cure=_cure(is_coarse=rounding > self._most),
            )

    def _rounding_of(self, aggregate: Aggregate, sizes: Mapping[str, int], bounds: Mapping[str, float]) -> float:
        """The most by which quantising can have lengthened the mean."""
        codec, count = self._settings.codec, aggregate.party_count
        scale, reach = self._settings.weight_max / aggregate.weight_sum, range_factor_of(codec, count)
        squares = (
            size
            * error_bound_sum(reach * bounds[name], codec.value_bits, count, codec.rounding, codec.layout, scale=scale)
            ** 2
            for name, size in sizes.items()
            if math.isfinite(bounds[name])
        )
        return math.sqrt(sum(squares))


class _LimitedTensor:
    """A streamed tensor times `factor`, which measures the mean that it is given."""

    def __init__(self, tensor: SelectableTensor, factor: float) -> None:
        self._tensor, self._factor = tensor, factor
        self._squares: dict[int, float] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return self._tensor.shape

    @property
    def size(self) -> int:
        return self._tensor.size

    @property
    def fits_float32(self) -> bool:
        """As the tensor says, where it does."""
        return bool(getattr(self._tensor, "fits_float32", False))

    @property
    def square_sum(self) -> float:
        """Of the mean that was written last."""
        return sum(self._squares.values())

    def read(self, start: int, stop: int) -> npt.NDArray[np.floating]:
        values = self._tensor.read(start, stop)
        return values if self._factor == 1.0 else values * self._factor

    def write_mean(self, start: int, mean: FloatArray) -> None:
        # An upload that is repeated writes the same pieces again.
        self._squares[start] = square_sum(mean)
        self._tensor.write_mean(start, mean)

    def write_mean_at(self, start: int, chosen: BoolArray, mean: FloatArray) -> None:
        if mean.size:
            # By the first value of the part: each is written once a sum.
            self._squares[start + int(np.argmax(chosen))] = square_sum(mean)
            self._tensor.write_mean_at(start, chosen, mean)


def _cure(*, is_coarse: bool) -> str:
    if is_coarse:
        return "raise codec.value_bits: rounding alone can lengthen a mean by the whole of codec.max_norm"
    return "a party sent an update beyond codec.max_norm, or the sum was altered: find out which before anybody goes on"
