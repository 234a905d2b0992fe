"""Tensors of any size, read in flat pieces and given their mean in flat pieces, with no float copy of a whole one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.codec.quantise import IntArray
from hekat.privacy.mask import BoolArray

# Pieces of so many float64 stay in the processor's second cache.
PIECE_VALUES = 1 << 15


class StreamedTensor(Protocol):
    """A tensor behind two calls; values are in the order of its flattened form, row by row."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def size(self) -> int: ...

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Values `start` to `stop`, float32 or float64, shape (stop - start,); not to be written to."""
        ...

    def write_mean(self, start: int, mean: FloatArray) -> None:
        """Take the mean of all parties' values from `start` on; an upload that is repeated writes again."""
        ...


@runtime_checkable
class SelectableTensor(StreamedTensor, Protocol):
    """A streamed tensor whose values a mask can divide: the means of both parts come at different times."""

    def write_mean_at(self, start: int, chosen: BoolArray, mean: FloatArray) -> None:
        """As `write_mean`, of those values from `start` on that are `chosen`, shape (chosen values,)."""
        ...


Tensors = dict[str, FloatArray]
AnyTensor = FloatArray | IntArray | StreamedTensor
AnyTensors = Mapping[str, AnyTensor]


def are_integers(tensor: AnyTensor) -> TypeGuard[IntArray]:
    """Whether the tensor is an array of int64, whose values are levels as they are."""
    return isinstance(tensor, np.ndarray) and tensor.dtype == np.int64


def are_floats(tensor: AnyTensor) -> TypeGuard[FloatArray]:
    """Whether the tensor is an array of floats."""
    return isinstance(tensor, np.ndarray) and tensor.dtype != np.int64


def gather(tensors: AnyTensors) -> Tensors:
    """All tensors as arrays of floats; a streamed one is copied into a flat float64 array."""
    return {name: _as_floats(tensor) for name, tensor in tensors.items()}


def _as_floats(tensor: AnyTensor) -> FloatArray:
    if are_floats(tensor):
        return tensor
    values = tensor if isinstance(tensor, np.ndarray) else tensor.read(0, tensor.size)
    return values.astype(np.float64)


def hand_out(means: Tensors, tensors: AnyTensors) -> Tensors:
    """Give each streamed tensor its mean; return the means of the others."""
    left: Tensors = {}
    for name, tensor in tensors.items():
        if isinstance(tensor, np.ndarray):
            left[name] = means[name]
        else:
            tensor.write_mean(0, means[name])
    return left


def arrays_of(tensors: AnyTensors) -> Tensors:
    """The tensors that are held as arrays of floats."""
    return {name: values for name, values in tensors.items() if are_floats(values)}


@dataclass(frozen=True)
class ScaledTensor:
    """A streamed tensor's values times `factor`, as `scale_by_weight` would make them."""

    tensor: StreamedTensor
    factor: float

    @property
    def size(self) -> int:
        return self.tensor.size


ScaledTensors = Mapping[str, FloatArray | ScaledTensor]
"""What clipping sees: values times weight / weight_max."""


def scale_streamed(tensors: Mapping[str, StreamedTensor], weight: int, weight_max: int) -> dict[str, ScaledTensor]:
    """`scale_by_weight` for streamed tensors."""
    return {name: ScaledTensor(tensor, weight / weight_max) for name, tensor in tensors.items()}


def pieces_of(values: FloatArray | ScaledTensor) -> Iterator[FloatArray]:
    """All values, flat, some thousands at a time."""
    if isinstance(values, np.ndarray):
        flat = values.reshape(-1)
        for start in range(0, flat.size, PIECE_VALUES):
            yield flat[start : start + PIECE_VALUES]
        return
    for start in range(0, values.size, PIECE_VALUES):
        piece = values.tensor.read(start, min(start + PIECE_VALUES, values.size))
        yield np.multiply(piece, values.factor, dtype=np.float64)


def extremes_of(values: FloatArray | ScaledTensor) -> tuple[float, float]:
    """(least, greatest) of one or more values."""
    ends = [(float(piece.min()), float(piece.max())) for piece in pieces_of(values)]
    return min(low for low, _ in ends), max(high for _, high in ends)
