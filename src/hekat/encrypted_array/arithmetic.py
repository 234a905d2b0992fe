"""Addition, subtraction and negation, of two encrypted arrays or of one and plain numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hekat.array_module import array_module
from hekat.encrypted_array.encoding import check_same_encoding
from hekat.encrypted_array.fixed_point import encode_fixed_point, max_magnitude, negate_integers
from hekat.encrypted_array.indexing import broadcast_to
from hekat.encrypted_array.plain import PlainValues, read_plain
from hekat.encrypted_array.plaintexts import plaintext_of
from hekat.encrypted_array.residency import check_reachable, check_together
from hekat.encrypted_array.values import Array, EncryptedValues
from hekat.engine.signed_limbs import IntegerArray
from hekat.errors import InputError
from hekat.scheme.paillier import evaluate


def add(x: Array, other: Any) -> Array:
    """x + other, broadcast as in NumPy; bounds add."""
    if isinstance(other, EncryptedValues):
        return _combine(x, other, subtract=False)
    return _add_plain(x, other, sign=1)


def subtract(x: Array, other: Any) -> Array:
    """x - other, broadcast as in NumPy; bounds add."""
    if isinstance(other, EncryptedValues):
        return _combine(x, other, subtract=True)
    return _add_plain(x, other, sign=-1)


def subtract_from(x: Array, plain: Any) -> Array:
    """plain - x, broadcast as in NumPy; bounds add."""
    return negate(subtract(x, plain))


def negate(x: Array) -> Array:
    """-x."""
    return replace(x, ciphertexts=evaluate.negate(x.ciphertexts), is_fresh=False)


def broadcast_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of two operands. Raises InputError where there is none."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise InputError(
            "shapes do not broadcast",
            expected="equal sizes, or 1, along every axis counted from the last",
            got=f"{a} and {b}",
            cure="reshape one, or insert an axis with x[:, None]",
        ) from None


def _combine(x: Array, y: EncryptedValues, *, subtract: bool) -> Array:
    check_same_encoding(x.encoding, y.encoding)
    check_together(x, y)
    shape = broadcast_shape(x.shape, y.shape)
    operation = "this subtraction" if subtract else "this addition"
    bound = x.encoding.check_bound(x.scaled_bound + y.scaled_bound, x.key.plaintext_space, operation)
    combine = evaluate.subtract if subtract else evaluate.add
    return replace(
        x,
        ciphertexts=combine(broadcast_to(x, shape).ciphertexts, broadcast_to(y, shape).ciphertexts),
        shape=shape,
        encoding=replace(x.encoding, is_real=x.encoding.is_real or y.encoding.is_real),
        scaled_bound=bound,
        bound_is_public=x.bound_is_public and y.bound_is_public,
        is_fresh=False,
    )


def _add_plain(x: Array, other: Any, sign: int) -> Array:
    engine = x.engine
    check_reachable(other, engine)
    with engine.active(other):
        return _add_numbers(x, read_plain(other, allow_bool=True, resident=True), sign)


def _add_numbers(x: Array, plain: PlainValues, sign: int) -> Array:
    addend = _encode_addend(plain, x)
    shape = broadcast_shape(x.shape, plain.shape)
    largest = max_magnitude(addend)
    bound = x.encoding.check_bound(x.scaled_bound + largest, x.key.plaintext_space, "adding these plain values")
    wide = broadcast_to(x, shape)
    signed = addend if sign > 0 else negate_integers(addend)
    packed = plaintext_of(array_module(signed).broadcast_to(signed, shape), x.encoding, largest)
    flat = evaluate.add_plain(wide.ciphertexts.reshape((wide.ciphertexts.size,)), packed)
    return replace(
        wide,
        ciphertexts=flat.reshape(wide.ciphertexts.shape),
        scaled_bound=bound,
        bound_is_public=False,
        is_fresh=False,
    )


def _encode_addend(plain: PlainValues, x: Array) -> IntegerArray:
    if plain.is_real and not x.encoding.is_real:
        raise InputError(
            "floats cannot be added to encrypted integers",
            expected="integers",
            got="floats",
            cure="give the encrypted array a scale first, x.rescale_up(32), or add integers",
        )
    return encode_fixed_point(plain, x.scale_bits, None)
