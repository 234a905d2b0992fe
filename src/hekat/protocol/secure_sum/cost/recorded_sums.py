"""The sums that training asks for and their forms, recorded before any run from one party that trains by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.protocol.secure_sum.aggregation import Aggregate, Alone, Counter, SumRequest
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors


@dataclass(frozen=True)
class SumShape:
    """The public form of one sum: shapes of its tensors, its counters, bits of a value; `is_fitted`: ranges go first;
    `recodes` as in SumRequest; `clear_count`: values that a mask leaves in the clear.

    The counters' values are 0.
    """

    step: str
    shapes: Mapping[str, tuple[int, ...]]
    counters: tuple[Counter, ...]
    value_bits: int
    is_fitted: bool = False
    recodes: bool = False
    clear_count: int = 0

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
    """As `Alone`, but it notes the form of every sum; `clips` as under the protection in question."""

    def __init__(self, value_bits: int, *, clips: bool) -> None:
        self.clips, self._value_bits = clips, value_bits
        self.sums: list[SumShape] = []
        self._fitted = ""

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        shapes = {name: tuple(values.shape) for name, values in request.tensors.items()}
        zeros = tuple(replace(counter, value=0) for counter in request.counters)
        bits = request.value_bits or self._value_bits
        is_fitted = request.step == self._fitted
        clear_count = 0 if request.mask is None else (~request.mask).chosen_count
        self.sums.append(SumShape(request.step, shapes, zeros, bits, is_fitted, request.recodes, clear_count))
        return super().weighted_mean(request)

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        self._fitted = step
        return super().agree_on_bounds(step, scaled)
