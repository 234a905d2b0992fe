"""NumPy arrays and torch tensors of an app's model by name: copies, sums with a difference, a zero each, a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from hekat.channel.canonical import encode_fields
from hekat.own_loop.held_tensor import HeldTensor

Tensors = Mapping[str, Any]

_DIGEST_LABEL = b"hekat/app-model/1"
_PIECE_VALUES = 1 << 20


def copy_of(tensors: Tensors) -> dict[str, Any]:
    """Tensors of their own memory, of the same kinds."""
    return {name: value.clone() if _is_torch(value) else np.array(value, copy=True) for name, value in tensors.items()}


def zero_each(tensors: Tensors) -> dict[str, Any]:
    """The same names, kinds and dtypes, with a single zero in each, and nothing of the values."""
    return {name: zeros_of(value, (1,)) for name, value in tensors.items()}


def zeros_of(value: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of the kind and dtype of `value`."""
    return value.new_zeros(shape) if _is_torch(value) else np.zeros(shape, np.asarray(value).dtype)


def add(tensors: Tensors, difference: Tensors) -> dict[str, Any]:
    """The sums of floats, in the dtypes of `tensors`; integers and truth values of `tensors` as they are."""
    return {name: _combine(value, difference[name], 1) for name, value in tensors.items()}


def subtract(tensors: Tensors, others: Tensors) -> dict[str, Any]:
    """The differences of floats; integers and truth values are 0, or False: they never leave a site."""
    return {name: _combine(value, others[name], -1) for name, value in tensors.items()}


def digest_of(tensors: Tensors, party: str) -> bytes:
    """SHA-256 over every tensor's name, dtype, shape and bytes. Raises InputError for what is no tensor of numbers."""
    digest = hashlib.sha256(_DIGEST_LABEL)
    for name, value in sorted(tensors.items()):
        held = HeldTensor(name, value, party)
        digest.update(encode_fields(name.encode(), held.dtype_name.encode(), repr(held.shape).encode()))
        values = held.open_values()
        for start in range(0, held.size, _PIECE_VALUES):
            piece = values.read_stored(start, min(start + _PIECE_VALUES, held.size))
            little = piece.astype(piece.dtype.newbyteorder("<"), copy=False)
            digest.update(np.ascontiguousarray(little).view(np.uint8).data)
    return digest.digest()


def floats_of(tensors: Tensors, party: str) -> dict[str, Any]:
    """Those that are averaged. Raises InputError, naming it, for what is no tensor of numbers."""
    return {name: value for name, value in tensors.items() if HeldTensor(name, value, party).is_averaged}


def _combine(value: Any, other: Any, sign: int) -> Any:
    if _is_torch(value):
        if not value.is_floating_point():
            return value.clone() if sign > 0 else value.new_zeros(value.shape)
        moved = other if _is_torch(other) else value.new_tensor(np.asarray(other))
        return (value + sign * moved.to(value.device)).to(value.dtype)
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return array.copy() if sign > 0 else np.zeros_like(array)
    return (array + sign * np.asarray(other)).astype(array.dtype)


def _is_torch(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "torch"
