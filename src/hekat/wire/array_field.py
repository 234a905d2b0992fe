"""NumPy arrays in messages: element type, shape, and the elements little-endian in C order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hekat.errors import InputError, WireCorruptError

MAX_DIMENSION_COUNT = 8
MAX_DIMENSION = (1 << 40) - 1

# The element types that an annotation may name, and their bytes on the wire.
ARRAY_DTYPES: dict[Any, np.dtype[Any]] = {
    np.float64: np.dtype("<f8"),
    np.float32: np.dtype("<f4"),
    np.int64: np.dtype("<i8"),
    np.uint64: np.dtype("<u8"),
    np.uint8: np.dtype("u1"),
}


class ArrayField:
    """Arrays of exactly one element type and any shape. Decoded arrays are read-only views of the message's bytes."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.native = dtype.newbyteorder("=")
        # Kept: NumPy puts a type's name together each time.
        self.name = self.native.name

    def encode(self, value: Any, where: str) -> list[Any]:
        """[element type, shape, bytes]. Raises InputError for another type: nothing is converted silently."""
        if not isinstance(value, np.ndarray):
            raise InputError(
                f"{where} is of another type", expected=f"a NumPy array of {self.native}", got=type(value).__name__
            )
        if value.dtype not in (self.native, self.dtype) and value.dtype.newbyteorder("=") != self.native:
            raise InputError(
                f"{where} has another element type",
                expected=str(self.native),
                got=str(value.dtype),
                cure=f"convert it with .astype(np.{self.native.name})",
            )
        if value.ndim > MAX_DIMENSION_COUNT or max(value.shape, default=0) > MAX_DIMENSION:
            raise InputError(
                f"{where} has a shape out of range", expected=self._shape_range(), got=f"{value.ndim} dimensions"
            )
        elements = value.astype(self.dtype, copy=False).tobytes(order="C")
        return [self.name, list(value.shape), elements]

    def decode(self, item: Any, where: str) -> np.ndarray[Any, np.dtype[Any]]:
        """The array. Raises WireCorruptError unless type, shape and bytes agree."""
        if not isinstance(item, list) or len(item) != 3:
            raise WireCorruptError(f"{where} does not hold an array", expected="element type, shape and bytes")
        name, shape, elements = item
        if name != self.name:
            got = name if isinstance(name, str) else type(name).__name__
            raise WireCorruptError(f"{where} has another element type", expected=self.name, got=f"{got:.20}")
        if not isinstance(shape, list) or len(shape) > MAX_DIMENSION_COUNT or not all(map(_is_dimension, shape)):
            raise WireCorruptError(f"{where} has a shape out of range", expected=self._shape_range())
        if not isinstance(elements, bytes) or len(elements) != math.prod(shape) * self.dtype.itemsize:
            raise WireCorruptError(f"{where} has more or fewer elements than its shape says")
        try:
            array = np.frombuffer(elements, dtype=self.dtype).reshape(shape)
        except ValueError:
            # An empty array whose other dimensions multiply past the address space.
            raise WireCorruptError(f"{where} has a shape out of range", expected=self._shape_range()) from None
        return array.astype(self.native, copy=False)

    def _shape_range(self) -> str:
        return f"at most {MAX_DIMENSION_COUNT} dimensions of at most {MAX_DIMENSION}"


def _is_dimension(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_DIMENSION
