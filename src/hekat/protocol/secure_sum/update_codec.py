"""Updates to packed plaintexts and sums of them back: clip, quantise, lay out values, weight and counters in slots.

Slot order: the values of every tensor by name, then the digits of the weight, then a count of contributors where the
layout has no count slot of its own, then the digits of each counter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hekat.codec import Layout, clip, error_bound_sum
from hekat.codec.counters import counter_slots, decode_counter_sums, encode_counters
from hekat.codec.quantise import Rounding
from hekat.errors import BoundError
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.secure_sum.aggregation import Aggregate, Counter, scale_by_weight, unflatten
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.protocol.secure_sum.streamed_tensor import Tensors


class UpdateCodec:
    """Encodes one party's contribution and decodes the sum of all; every setting is public and equal everywhere."""

    def __init__(self, layout: Layout, rounding: Rounding, weight_max: int, *, range_factor: int = 1) -> None:
        """`range_factor` widens the quantised range beyond the clipping bound: BatchCrypt's advance scaling."""
        self.layout, self._rounding, self._weight_max = layout, rounding, weight_max
        self._range_factor = range_factor
        self._contributor_maxima = [] if layout.has_count_slot else [1]

    def clip_scaled(self, tensors: Tensors, bounds: Mapping[str, float], weight: int) -> Tensors:
        """Each value times weight / weight_max, clipped to +-bounds[tensor]."""
        scaled = scale_by_weight(tensors, weight, self._weight_max)
        return {name: clip(values, bounds[name])[0] for name, values in scaled.items()}

    def as_sent(self, tensors: Tensors, bounds: Mapping[str, float], weight: int) -> Tensors:
        """One contributor's tensors as its plaintexts hold them, in the tensors' units; as `Aggregation.as_sent`."""
        clipped = self.clip_scaled(tensors, bounds, weight)
        back = self._weight_max / weight
        if self._rounding == "stochastic":
            return {name: values * back for name, values in clipped.items()}
        sent: Tensors = {}
        for name, values in clipped.items():
            reach = self._range_factor * bounds[name]
            levels = self.layout.quantise(values.ravel(), reach, self._rounding)
            sent[name] = self.layout.dequantise(levels, reach, 1).reshape(values.shape) * back
        return sent

    def encode(
        self, clipped: Tensors, bounds: Mapping[str, float], weight: int, counters: Sequence[Counter]
    ) -> PackedPlaintext:
        """Clipped, scaled tensors with the weight and counters beside them, one contributor's plaintexts."""
        parts = [
            self.layout.quantise(clipped[name].ravel(), self._range_factor * bounds[name], self._rounding)
            for name in sorted(clipped)
        ]
        values = [weight, *self._contributor_maxima, *(counter.value for counter in counters)]
        parts.append(encode_counters(values, self._maxima(counters), self.layout.highest))
        return self.layout.pack(np.concatenate(parts))

    def decode(
        self,
        plain: PackedPlaintext,
        like: Tensors,
        bounds: Mapping[str, float],
        counters: Sequence[Counter],
        addend_count: int,
    ) -> Aggregate:
        """The weighted mean and the counters' sums of `addend_count` contributions.

        Raises BoundError where a plaintext's count slot, or without one the counted contributors, are not
        `addend_count`, or a slot holds what no such sum can.
        """
        sums = self.layout.unpack(plain, self.slot_count(like, counters), addend_count)
        value_count = sum(values.size for values in like.values())
        totals = decode_counter_sums(sums[value_count:], self._maxima(counters), self.layout.highest, addend_count)
        weight_sum, *totals = totals
        if self._contributor_maxima:
            _check_contributors(totals.pop(0), addend_count)
        check_total("the sum of row counts", weight_sum, addend_count, addend_count * self._weight_max)
        for counter, total in zip(counters, totals, strict=True):
            check_total(f"the sum of counter {counter.name!r}", total, 0, addend_count * counter.maximum)
        mean = {
            name: self.layout.dequantise(levels, self._range_factor * bounds[name], addend_count)
            * (self._weight_max / weight_sum)
            for name, levels in unflatten(sums[:value_count], like).items()
        }
        counted = {c.name: total for c, total in zip(counters, totals, strict=True)}
        return Aggregate(mean, weight_sum, counted, addend_count)

    def slot_count(self, like: Tensors, counters: Sequence[Counter]) -> int:
        """Slots of one contribution, without the count slot."""
        value_count = sum(values.size for values in like.values())
        return value_count + counter_slots(self._maxima(counters), self.layout.highest)

    def mean_error_bounds(
        self, like: Tensors, bounds: Mapping[str, float], addend_count: int, weight_sum: int
    ) -> Tensors:
        """The stated bound on |decoded mean - float mean of the clipped updates|, for every value."""
        return {
            name: np.full(
                values.shape,
                error_bound_sum(
                    self._range_factor * bounds[name],
                    self.layout.value_bits,
                    addend_count,
                    self._rounding,
                    self.layout.name,
                    scale=self._weight_max / weight_sum,
                ),
            )
            for name, values in like.items()
        }

    def _maxima(self, counters: Sequence[Counter]) -> list[int]:
        return [self._weight_max, *self._contributor_maxima, *(counter.maximum for counter in counters)]


def range_factor_of(codec: CodecSettings, addend_count: int) -> int:
    """By how much the quantised range is wider than the clipping bound: BatchCrypt's advance scaling, or 1."""
    return addend_count if codec.clipping == "daciq" and codec.layout == "two_sign_bits" else 1


def _check_contributors(counted: int, announced: int) -> None:
    if counted != announced:
        raise _malformed("the number of contributors", f"{announced}, as announced")


def check_total(what: str, total: int, least: int, most: int) -> None:
    """Raise BoundError, without the number, where a decoded total is not from `least` to `most`."""
    if not least <= total <= most:
        raise _malformed(what, f"{least} to {most}")


def _malformed(what: str, expected: str) -> BoundError:
    return BoundError(
        f"a decrypted sum was refused: {what} is wrong",
        expected=expected,
        got="another number",
        cure="find the contributor that was dropped or added twice: the aggregator's ledger holds every digest",
    )
