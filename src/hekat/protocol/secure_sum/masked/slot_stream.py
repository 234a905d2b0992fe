"""Updates as a stream of slots, block by block, and sums of such streams back: no copy of a whole update is made.

Order of the slots: the digits of the weight, the digits of each counter, then the values of every tensor by name. The
weight comes first since the sum's values are scaled by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec import Rounding, error_bound_sum, level_bound
from hekat.codec.counters import counter_slots, decode_counter_sums, encode_counters
from hekat.codec.levels import dequantise_sums, quantise_levels
from hekat.engine.ring.interface import LevelArray, SumArray
from hekat.errors import BoundError, InputError
from hekat.protocol.secure_sum.aggregation import Aggregate, Counter
from hekat.protocol.secure_sum.streamed_tensor import AnyTensor, AnyTensors, Tensors, are_floats, are_integers
from hekat.protocol.secure_sum.update_codec import check_total
from hekat.scheme.lattice import LatticeParameters, block_values

# Slots worked on at once: a block's levels and bytes stay in the processor's outer cache.
BLOCK_SLOTS = 1 << 18


def block_slots_of(parameters: LatticeParameters) -> int:
    """Slots of each block of an upload or a sum but the last: whole chunks, as many as fit BLOCK_SLOTS."""
    return block_values(parameters, BLOCK_SLOTS)


def levels_sent(tensors: Tensors, bounds: Mapping[str, float], share: float, value_bits: int) -> Tensors:
    """The levels that a sum holds of `tensors` scaled by `share`, rounded to the nearest, in units of the tensors."""
    level = level_bound(value_bits)
    sent: Tensors = {}
    for name, values in tensors.items():
        levels = np.empty(values.size, dtype=np.int32)
        quantise_levels(np.ravel(values), share * (level / bounds[name]), level, levels)
        sent[name] = levels.reshape(values.shape).astype(np.float64) * (bounds[name] / level / share)
    return sent


class SlotStream:
    """One sum's layout in slots: public, equal at all parties."""

    def __init__(
        self,
        like: AnyTensors,
        bounds: Mapping[str, float],
        counters: Sequence[Counter],
        *,
        value_bits: int,
        weight_max: int,
        rounding: Rounding,
        is_headless: bool = False,
    ) -> None:
        """`like` gives names and shapes; `bounds` the clipping bound of each tensor's scaled values.

        One that is headless has values alone: weight and counters are in another stream of the sum.
        """
        self.like, self.bounds, self.counters = like, bounds, counters
        self.names = sorted(like)
        self.value_bits, self.weight_max, self._rounding = value_bits, weight_max, rounding
        self.level = level_bound(value_bits)
        self.maxima = [] if is_headless else [weight_max, *(counter.maximum for counter in counters)]
        self.head_slots = counter_slots(self.maxima, self.level)

    @property
    def slot_count(self) -> int:
        """Slots of one contribution."""
        return self.head_slots + sum(self.like[name].size for name in self.names)

    def blocks(self, tensors: AnyTensors, weight: int, block_slots: int) -> Iterator[LevelArray]:
        """One contribution's slots, `block_slots` at a time, fewer in the last block.

        Values are scaled by weight / weight_max, rounded to the nearest level (or stochastically), then clipped; int64
        values are levels as they are. Raises InputError for values that are not finite and for integers of another
        weight than 1, BoundError for a counter or an integer outside its range.
        """
        counted = [weight, *(counter.value for counter in self.counters)] if self.maxima else []
        head = encode_counters(counted, self.maxima, self.level).astype(np.int32)
        rng = np.random.default_rng() if self._rounding == "stochastic" else None
        block = np.empty(min(block_slots, self.slot_count), dtype=np.int32)
        filled = 0
        for part, factor in self._parts(head, tensors, weight):
            start = 0
            while start < part.size:
                count = min(part.size - start, block.size - filled)
                piece, target = _read(part, start, start + count), block[filled : filled + count]
                if factor is None:
                    if piece.size and max(int(piece.max()), -int(piece.min())) > self.level:
                        raise BoundError(
                            "an integer is no level", expected=f"magnitudes up to {self.level}", got="a larger one"
                        )
                    target[:] = piece
                else:
                    quantise_levels(piece, factor, self.level, target, self._rounding, rng)
                start, filled = start + count, filled + count
                if filled == block.size:
                    yield block
                    filled = 0
        if filled:
            yield block[:filled]

    def _parts(
        self, head: LevelArray, tensors: AnyTensors, weight: int
    ) -> Iterator[tuple[LevelArray | AnyTensor, float | None]]:
        """Parts in slot order, each with the factor from values to levels; None: levels already."""
        yield head, None
        share = weight / self.weight_max
        for name in self.names:
            tensor = tensors[name]
            if are_integers(tensor) and weight != 1:
                raise InputError("integers are summed as they are", expected="a weight of 1", got="another")
            factor = None if are_integers(tensor) else share * (self.level / self.bounds[name])
            yield tensor.reshape(-1) if isinstance(tensor, np.ndarray) else tensor, factor

    def mean_error_bounds(self, addend_count: int, weight_sum: int) -> Tensors:
        """The stated bound on |decoded mean - float mean of the clipped updates|, for every value."""
        scale = self.weight_max / weight_sum
        return {
            name: np.full(
                self.like[name].shape,
                error_bound_sum(self.bounds[name], self.value_bits, addend_count, self._rounding, scale=scale),
            )
            for name in self.names
            if not are_integers(self.like[name])
        }

    def reader(self, addend_count: int, weight_sum: int | None = None) -> SumReader:
        """Takes the sums of `addend_count` contributions, block by block; `weight_sum` where the stream is headless."""
        return SumReader(self, addend_count, weight_sum)


def _read(part: npt.NDArray[Any] | AnyTensor, start: int, stop: int) -> npt.NDArray[Any]:
    return part[start:stop] if isinstance(part, np.ndarray) else part.read(start, stop)


class SumReader:
    """Fills the mean's tensors from blocks of slot sums as they come; `finish` gives the aggregate.

    Streamed tensors take their mean themselves and are not in the aggregate's; of int64 tensors it has the sums.
    """

    def __init__(self, stream: SlotStream, addend_count: int, weight_sum: int | None = None) -> None:
        self._stream, self._addend_count = stream, addend_count
        self._head = np.empty(stream.head_slots, dtype=np.int64)
        self._totals: list[int] = [] if weight_sum is None else [weight_sum]
        self._mean = {
            name: np.empty(like.shape, dtype=like.dtype) for name, like in stream.like.items() if are_floats(like)
        }
        self._sums = {
            name: np.empty(like.shape, dtype=np.int64) for name, like in stream.like.items() if are_integers(like)
        }
        self._read = 0

    @property
    def weight_sum(self) -> int:
        """The sum of the weights, once the first sums are read."""
        return self._totals[0]

    def read(self, sums: SumArray) -> None:
        """The next sums. Raises BoundError where values, weight or counters are no sum of so many contributions.

        The set may be of more bits than a value has here.
        """
        most = self._addend_count * self._stream.level
        if sums.size and (int(sums.max()) > most or int(sums.min()) < -most):
            raise BoundError("a sum is out of range", expected=f"{self._addend_count} contributions", got="another")
        start = 0
        if self._read < self._head.size:
            start = min(sums.size, self._head.size - self._read)
            self._head[self._read : self._read + start] = sums[:start]
            if self._read + start == self._head.size:
                self._totals = self._decode_head()
        position = self._read + start - self._head.size
        self._read += sums.size
        if start == sums.size:
            return
        offset = 0
        for name in self._stream.names:
            size = self._stream.like[name].size
            if offset <= position < offset + size:
                count = min(offset + size - position, sums.size - start)
                self._write(name, position - offset, sums[start : start + count])
                start, position = start + count, position + count
            offset += size

    def _write(self, name: str, first: int, sums: SumArray) -> None:
        stream = self._stream
        if name in self._sums:
            if sums.size == self._sums[name].size:
                self._sums[name] = sums.reshape(self._sums[name].shape)
            else:
                self._sums[name].reshape(-1)[first : first + sums.size] = sums
            return
        factor = stream.bounds[name] / stream.level * (stream.weight_max / self._totals[0])
        tensor = stream.like[name]
        if isinstance(tensor, np.ndarray):
            dequantise_sums(sums, factor, self._mean[name].reshape(-1)[first : first + sums.size])
        else:
            mean = np.empty(sums.size)
            dequantise_sums(sums, factor, mean)
            tensor.write_mean(first, mean)

    def _decode_head(self) -> list[int]:
        stream = self._stream
        totals = decode_counter_sums(self._head, stream.maxima, stream.level, self._addend_count)
        check_total("the sum of row counts", totals[0], self._addend_count, self._addend_count * stream.weight_max)
        for counter, total in zip(stream.counters, totals[1:], strict=True):
            check_total(f"the sum of counter {counter.name!r}", total, 0, self._addend_count * counter.maximum)
        return totals

    def finish(self) -> Aggregate:
        """The weighted mean and the counters, once every slot was read."""
        counters = {c.name: total for c, total in zip(self._stream.counters, self._totals[1:], strict=True)}
        return Aggregate(self._mean, self._totals[0], counters, self._addend_count, sums=self._sums)
