"""Arithmetic in Z_2^128: two parties hold additive shares in this ring of numbers that neither of them knows.

An array of shares is uint64 of shape (..., 2): low limb, high limb. Every operation wraps mod 2^128, as shares must.
The caller bounds the numbers behind the shares, so that these do not wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LIMB_BITS, read_from_bit
from hekat.engine.random_limbs import random_bits
from hekat.engine.signed_limbs import integers_from_limbs
from hekat.errors import InputError

ShareArray = npt.NDArray[np.uint64]
FloatArray = npt.NDArray[np.float64]

RING_BITS = 128
_INT_BITS = 63
_HALF_BITS = 32
_HALF = np.uint64(_HALF_BITS)
_HALF_MASK = np.uint64((1 << _HALF_BITS) - 1)
# Wider integers of a plain matrix are split in two.
_WIDE_BITS = 24


def random_shares(shape: tuple[int, ...]) -> ShareArray:
    """Uniform elements of the ring from the operating system's randomness, shape (*shape, 2)."""
    return random_bits(int(np.prod(shape, dtype=np.int64)), RING_BITS).reshape(*shape, 2)


def zero_shares(shape: tuple[int, ...]) -> ShareArray:
    """Zeros, shape (*shape, 2)."""
    return np.zeros((*shape, 2), np.uint64)


def from_integers(values: npt.NDArray[np.int64]) -> ShareArray:
    """int64 integers as elements of the ring; a negative one is 2^128 less its magnitude."""
    high = np.where(values < 0, np.uint64(2**64 - 1), np.uint64(0))
    return np.stack([values.astype(np.uint64), high], axis=-1)


def constant(value: int) -> ShareArray:
    """One integer of any size as an element of the ring, shape (2,)."""
    residue = value % (1 << RING_BITS)
    return np.array([residue & (2**64 - 1), residue >> LIMB_BITS], np.uint64)


def add_shares(a: ShareArray, b: ShareArray) -> ShareArray:
    """a + b, shapes broadcast."""
    with np.errstate(over="ignore"):  # NumPy warns where a single element wraps
        low = a[..., 0] + b[..., 0]
        carry = (low < a[..., 0]).astype(np.uint64)
        return np.stack([low, a[..., 1] + b[..., 1] + carry], axis=-1)


def negate(a: ShareArray) -> ShareArray:
    """-a."""
    with np.errstate(over="ignore"):
        low = np.uint64(0) - a[..., 0]
        borrow = (a[..., 0] != 0).astype(np.uint64)
        return np.stack([low, np.uint64(0) - a[..., 1] - borrow], axis=-1)


def subtract(a: ShareArray, b: ShareArray) -> ShareArray:
    """a - b, shapes broadcast."""
    return add_shares(a, negate(b))


def multiply(a: ShareArray, b: ShareArray) -> ShareArray:
    """a * b, shapes broadcast. A known factor times a share is a share of the product."""
    a_low, a_high = a[..., 0], a[..., 1]
    b_low, b_high = b[..., 0], b[..., 1]
    with np.errstate(over="ignore"):
        high = _upper_half(a_low, b_low) + a_low * b_high + a_high * b_low
        return np.stack([a_low * b_low, high], axis=-1)


def shift_left(a: ShareArray, bits: int) -> ShareArray:
    """a * 2^bits, 0 <= bits < 128."""
    if bits >= LIMB_BITS:
        return np.stack([np.zeros_like(a[..., 0]), a[..., 0] << np.uint64(bits - LIMB_BITS)], axis=-1)
    if bits == 0:
        return a
    high = (a[..., 1] << np.uint64(bits)) | (a[..., 0] >> np.uint64(LIMB_BITS - bits))
    return np.stack([a[..., 0] << np.uint64(bits), high], axis=-1)


def shift_right(a: ShareArray, bits: int) -> ShareArray:
    """floor(a / 2^bits), where a is a number in [0, 2^128); 0 <= bits < 128."""
    if bits >= LIMB_BITS:
        return np.stack([a[..., 1] >> np.uint64(bits - LIMB_BITS), np.zeros_like(a[..., 1])], axis=-1)
    if bits == 0:
        return a
    low = (a[..., 0] >> np.uint64(bits)) | (a[..., 1] << np.uint64(LIMB_BITS - bits))
    return np.stack([low, a[..., 1] >> np.uint64(bits)], axis=-1)


def sum_along(a: ShareArray, axis: int) -> ShareArray:
    """Sums along one axis (not the limbs') of fewer than 2^32 elements."""
    axis = axis if axis >= 0 else axis - 1
    quarters = [half.sum(axis=axis, dtype=np.uint64) for limb in (0, 1) for half in _halves(a[..., limb])]
    total = np.zeros((*quarters[0].shape, 2), np.uint64)
    for position, quarter in enumerate(quarters):
        placed = np.stack([quarter, np.zeros_like(quarter)], axis=-1)
        total = add_shares(total, shift_left(placed, _HALF_BITS * position))
    return total


def matmul(a: ShareArray, b: ShareArray) -> ShareArray:
    """a @ b for elements of the ring, shapes (r, k, 2) and (k, m, 2): (r, m, 2)."""
    columns = [sum_along(multiply(a, b[np.newaxis, :, column]), 1) for column in range(b.shape[1])]
    return np.stack(columns, axis=1) if columns else zero_shares((a.shape[0], 0))


def matmul_integers(matrix: Any, shares: ShareArray) -> ShareArray:
    """matrix @ shares for int64 (r, k), dense or sparse of SciPy, magnitudes below 2^48, and (k, m, 2): (r, m, 2).

    The shares are split into pieces so small that no sum of products reaches 2^63.
    """
    largest = int(abs(matrix).max()) if matrix.size else 0
    entry_bits = largest.bit_length()
    if entry_bits > 2 * _WIDE_BITS:
        raise InputError("integers too wide for a product with shares", expected="magnitudes below 2^48", got="more")
    term_bits = max(1, matrix.shape[1]).bit_length()
    if entry_bits + term_bits > _INT_BITS - 8 and entry_bits > _WIDE_BITS:
        upper, lower = _cut_in_two(matrix)
        return add_shares(shift_left(matmul_integers(upper, shares), _WIDE_BITS), matmul_integers(lower, shares))
    piece_bits = min(_HALF_BITS, _INT_BITS - entry_bits - term_bits)
    k, m = shares.shape[:2]
    flat = shares.reshape(-1, 2)
    pieces = [read_from_bit(flat, bit) & _low_mask(min(piece_bits, RING_BITS - bit)) for bit in _starts(piece_bits)]
    right = np.stack(pieces, axis=-1).astype(np.int64).reshape(k, m * len(pieces))
    products = np.asarray(matrix @ right).reshape(matrix.shape[0], m, len(pieces))
    total = zero_shares((matrix.shape[0], m))
    for position, start in enumerate(_starts(piece_bits)):
        total = add_shares(total, shift_left(from_integers(products[..., position]), start))
    return total


def signed_integers(a: ShareArray) -> npt.NDArray[np.object_]:
    """The elements as Python integers in [-2^127, 2^127)."""
    return integers_from_limbs(a).reshape(a.shape[:-1])


def to_floats(a: ShareArray, fraction_bits: int) -> FloatArray:
    """The elements as signed integers at a scale of 2^-fraction_bits, rounded to float64."""
    negative = (a[..., 1] >> np.uint64(LIMB_BITS - 1)).astype(np.bool_)
    magnitude = np.where(negative[..., np.newaxis], negate(a), a)
    value = np.ldexp(magnitude[..., 1].astype(np.float64), LIMB_BITS) + magnitude[..., 0].astype(np.float64)
    return np.asarray(np.ldexp(np.where(negative, -value, value), -fraction_bits))


def _cut_in_two(matrix: Any) -> tuple[Any, Any]:
    """Split an integer matrix into u and l >= 0 with matrix = u 2^24 + l, dense or sparse as it is."""
    if isinstance(matrix, np.ndarray):
        return matrix >> _WIDE_BITS, matrix & ((1 << _WIDE_BITS) - 1)
    upper, lower = matrix.copy(), matrix.copy()
    upper.data, lower.data = _cut_in_two(matrix.data)
    return upper, lower


def _starts(piece_bits: int) -> range:
    return range(0, RING_BITS, piece_bits)


def _low_mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _halves(a: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    return np.bitwise_and(a, _HALF_MASK), np.right_shift(a, _HALF)


def _upper_half(a: npt.NDArray[np.uint64], b: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """floor(a b / 2^64) of unsigned 64-bit integers, by schoolbook on halves."""
    a_low, a_high = _halves(a)
    b_low, b_high = _halves(b)
    middle = a_high * b_low + ((a_low * b_low) >> _HALF)
    other = a_low * b_high + (middle & _HALF_MASK)
    upper: npt.NDArray[np.uint64] = a_high * b_high + (middle >> _HALF) + (other >> _HALF)
    return upper
