"""Which sums training asks for, and of what form: recorded from one party that trains by itself, before any run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hekat.protocol.secure_sum.aggregation import Aggregate, Alone, Counter, FloatArray, Tensors
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors


@dataclass(frozen=True)
class SumShape:
    """The public form of one sum: shapes of its tensors, its counters, bits of a value; `is_fitted`: ranges go first.

    The counters' values are 0.
    """

    step: str
    shapes: Mapping[str, tuple[int, ...]]
    counters: tuple[Counter, ...]
    value_bits: int
    is_fitted: bool = False

    @property
    def like(self) -> dict[str, FloatArray]:
        """Tensors of these shapes that take no memory."""
        zero = np.zeros((), dtype=np.float64)
        return {name: np.broadcast_to(zero, shape) for name, shape in self.shapes.items()}

    @property
    def value_count(self) -> int:
        """Values of all tensors."""
        return sum(values.size for values in self.like.values())

    def at(self, step: str) -> SumShape:
        """The same sum in another step."""
        return replace(self, step=step)


class SumRecorder(Alone):
    """As training alone, but it notes the form of every sum; `clips` as under the protection to be told of."""

    def __init__(self, value_bits: int, *, clips: bool) -> None:
        self.clips, self._value_bits = clips, value_bits
        self.sums: list[SumShape] = []
        self._fitted = ""

    def sum_counters(self, step: str, counters: Sequence[Counter], *, value_bits: int | None = None) -> dict[str, int]:
        self._note(step, {}, counters, value_bits)
        return super().sum_counters(step, counters)

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
        self._note(step, tensors, counters, value_bits)
        return Alone().weighted_mean(step, tensors, bounds, weight, counters)

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        self._fitted = step
        return super().agree_on_bounds(step, scaled)

    def _note(self, step: str, tensors: Tensors, counters: Sequence[Counter], value_bits: int | None) -> None:
        shapes = {name: tuple(values.shape) for name, values in tensors.items()}
        zeros = tuple(replace(counter, value=0) for counter in counters)
        self.sums.append(SumShape(step, shapes, zeros, value_bits or self._value_bits, is_fitted=step == self._fitted))
