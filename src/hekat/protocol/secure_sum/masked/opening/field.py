"""Arithmetic modulo 65521, the largest prime below 2^16, on arrays; evaluation of polynomials at further points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import ProtocolError

PRIME = 65521
ELEMENT_BYTES = 2

WRONG_LENGTH = "a share of another length"
OUT_OF_RANGE = "a share out of range"

FieldArray = npt.NDArray[np.uint16]
UnsignedArray = npt.NDArray[np.unsignedinteger[Any]]
WideArray = npt.NDArray[np.uint64]

_MARGIN = 64


def reduce_wide(wide: WideArray, bits: int = 64) -> FieldArray:
    """Values below 2^`bits` mod 65521, the same shape, by shifts and small products alone: no division, no branch."""
    # 2^16 = 15 mod 65521. Foldings bring what is there below twice the prime, which is then taken away at most once.
    largest = (1 << bits) - 1
    while largest >= 2 * PRIME:
        wide = (wide >> np.uint64(16)) * np.uint64(15) + (wide & np.uint64(0xFFFF))
        largest = (largest >> 16) * 15 + 0xFFFF
    return (wide - ((wide + np.uint64(15)) >> np.uint64(16)) * np.uint64(PRIME)).astype(np.uint16)


def multiply_matrices(a: FieldArray, b: FieldArray) -> FieldArray:
    """The matrix product; sums of fewer than 2^32 products of residues stay below 2^64."""
    return reduce_wide(a.astype(np.uint64) @ b.astype(np.uint64), 32 + a.shape[1].bit_length())


def to_field(signed: npt.NDArray[np.signedinteger[Any]]) -> FieldArray:
    """Residues of integers in [-65521, 2^62]."""
    return reduce_wide((signed.astype(np.int64) + PRIME).astype(np.uint64))


def centre(residues: FieldArray) -> npt.NDArray[np.int32]:
    """The representatives in [-32760, 32760]."""
    wide = residues.astype(np.int32)
    return wide - PRIME * (wide > PRIME // 2).astype(np.int32)


def take_elements(stream: Callable[[int], bytes], count: int) -> FieldArray:
    """The first `count` little-endian 16-bit words below the prime of `stream(byte_count)`; of random bytes, uniform.

    A stream that is asked again must give fresh bytes or, as an extendable hash does, the same ones and more.
    """
    byte_count = ELEMENT_BYTES * (count + count // 1024 + _MARGIN)
    while True:
        words = np.frombuffer(stream(byte_count), dtype="<u2")
        kept = words[words < PRIME]
        if len(kept) >= count:
            return kept[:count].astype(np.uint16)
        byte_count *= 2


def is_field_vector(values: object, length: int) -> bool:
    """Whether `values` is a one-dimensional unsigned array of this length with every element below the prime."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "u" or values.shape != (length,):
        return False
    return bool(np.all(values < PRIME))


def write_elements(elements: FieldArray) -> bytes:
    """The elements as little-endian 16-bit words."""
    return elements.astype("<u2").tobytes()


def read_elements(data: bytes, count: int) -> FieldArray:
    """The `count` elements that `write_elements` wrote, an array of its own that can be wiped.

    Raises ProtocolError for another length, and for words from the prime on.
    """
    if len(data) != ELEMENT_BYTES * count:
        raise ProtocolError(WRONG_LENGTH, expected=f"{ELEMENT_BYTES * count} bytes", got=f"{len(data)}")
    elements = np.frombuffer(data, dtype="<u2").astype(np.uint16)
    if np.any(elements >= PRIME):
        raise ProtocolError(OUT_OF_RANGE, expected=f"values below {PRIME}", got="larger ones")
    return elements


def evaluate_at(points: Sequence[int], values: FieldArray, at: Sequence[int]) -> FieldArray:
    """Rows f(at) of the one polynomial of degree < len(points) with rows `values` at the different `points`."""
    return multiply_matrices(_lagrange_weights(tuple(points), tuple(at)), values)


@cache
def _lagrange_weights(points: tuple[int, ...], at: tuple[int, ...]) -> FieldArray:
    """w with f(at_i) = sum over j of w_ij f(points_j)."""
    rows = [
        [
            prod((x - other) * pow(point - other, -1, PRIME) for other in points if other != point) % PRIME
            for point in points
        ]
        for x in at
    ]
    weights = np.array(rows, dtype=np.uint16).reshape(len(at), len(points))
    weights.flags.writeable = False
    return weights


def wipe(*arrays: npt.NDArray[Any]) -> None:
    """Fill the arrays with zeros, in place.

    What Python cannot wipe: temporaries that NumPy made and freed, the immutable bytes that a message came in or went
    out as, what the allocator or the kernel copied, and pages that were swapped out.
    """
    for array in arrays:
        array.fill(0)
