"""Products with plain numbers: element by element, and matrix products. Scales add, bounds multiply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hekat.encrypted_array.arithmetic import broadcast_shape
from hekat.encrypted_array.encoding import Encoding
from hekat.encrypted_array.fixed_point import (
    DEFAULT_SCALE_BITS,
    check_scale_bits,
    encode_fixed_point,
    max_magnitude,
)
from hekat.encrypted_array.indexing import broadcast_to, transpose
from hekat.encrypted_array.plain import read_plain
from hekat.encrypted_array.refusals import refuse_product
from hekat.encrypted_array.values import Array, EncryptedValues
from hekat.engine.signed_limbs import IntegerArray
from hekat.errors import InputError
from hekat.scheme.paillier import evaluate


def multiply(x: Array, other: Any, scale_bits: int | None = None) -> Array:
    """x * other for plain `other`, broadcast as in NumPy; floats at `scale_bits`, 32 if None."""
    if isinstance(other, EncryptedValues):
        refuse_product()
    factors, encoding = _encode_factors(other, x, scale_bits)
    shape = broadcast_shape(x.shape, factors.shape)
    _check_one_factor_per_ciphertext(x, factors)
    bound = x.encoding.check_bound(
        x.scaled_bound * max_magnitude(factors), x.key.plaintext_space, "multiplying by these plain values"
    )
    wide = broadcast_to(x, shape)
    return replace(
        wide,
        ciphertexts=evaluate.multiply_plain(wide.ciphertexts, factors),
        encoding=encoding,
        scaled_bound=bound,
        bound_is_public=False,
        is_fresh=False,
    )


def rescale_up(x: Array, bits: int) -> Array:
    """The values of x at a scale of `bits` more; the factor is public, so a public bound stays public."""
    bits = check_scale_bits(bits)
    if bits == 0:
        return x
    bound = x.encoding.check_bound(x.scaled_bound << bits, x.key.plaintext_space, f"rescaling up by {bits} bits")
    return replace(
        x,
        ciphertexts=evaluate.multiply_plain(x.ciphertexts, 1 << bits),
        encoding=replace(x.encoding, scale_bits=x.scale_bits + bits, is_real=True),
        scaled_bound=bound,
        is_fresh=False,
    )


def matmul_right(x: Array, other: Any) -> Array:
    """x @ other for plain `other`, each with one or two axes: as (other.T @ x.T).T."""
    if isinstance(other, EncryptedValues):
        refuse_product()
    if x.encoding.packing:
        raise InputError(
            "x @ plain sums along the packed axis",
            expected="plain @ x for a packed x, or one value per ciphertext",
            got=f"{x.pack} slots",
            cure="encrypt the transposed array, or without pack=",
        )
    plain, encoding = _encode_factors(other, x, None)
    _check_matmul(x.shape, plain.shape)
    product = _sum_of_products(plain.T, transpose(x, ()), encoding)
    return transpose(product, ())


def matmul_left(other: Any, x: Array) -> Array:
    """other @ x for plain `other`, each with one or two axes; a packed x of two axes keeps its slots."""
    plain, encoding = _encode_factors(other, x, None)
    _check_matmul(plain.shape, x.shape)
    if x.encoding.packing and x.ndim == 1:
        raise InputError(
            "plain @ x sums along the packed axis",
            expected="an x of two axes, or one value per ciphertext",
            got=f"one axis with {x.pack} slots",
            cure="encrypt without pack=",
        )
    return _sum_of_products(plain, x, encoding)


def _sum_of_products(plain: IntegerArray, x: Array, encoding: Encoding) -> Array:
    """plain (m, k) or (k,) @ x (k, t) or (k,), both checked."""
    rows = np.atleast_2d(plain)
    weights = max((sum(abs(int(v)) for v in row) for row in rows), default=0)
    bound = x.encoding.check_bound(x.scaled_bound * weights, x.key.plaintext_space, "this matrix product")
    shape = (*plain.shape[:-1], *x.shape[1:])
    cipher_shape = (*plain.shape[:-1], *x.ciphertexts.shape[1:])
    product = evaluate.matmul_plain(rows, x.ciphertexts)
    return replace(
        x,
        ciphertexts=product.reshape(cipher_shape),
        shape=shape,
        encoding=encoding,
        scaled_bound=bound,
        bound_is_public=False,
        is_fresh=False,
    )


def _check_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    if not 1 <= len(left) <= 2 or not 1 <= len(right) <= 2:
        raise InputError(
            "matrix products take one or two axes",
            expected="vectors and matrices",
            got=f"shapes {left} and {right}",
            cure="multiply slice by slice and stack, or use * and .sum(axis)",
        )
    if left[-1] != right[0]:
        raise InputError(
            "matrix product of unequal inner sizes",
            expected=f"{left[-1]} along the first axis of the right operand",
            got=f"shapes {left} and {right}",
            cure="transpose or reshape one of them",
        )


def _encode_factors(other: Any, x: Array, scale_bits: int | None) -> tuple[IntegerArray, Encoding]:
    """The plain factors as integers, and the encoding of a product with them."""
    plain = read_plain(other, allow_bool=True)
    added = 0
    if plain.is_real:
        added = check_scale_bits(DEFAULT_SCALE_BITS if scale_bits is None else scale_bits)
    elif scale_bits is not None:
        raise InputError(
            "scale_bits says how floats are rounded",
            expected="plain floats",
            got="plain integers, which are exact",
            cure="leave scale_bits out, or pass floats",
        )
    encoding = replace(x.encoding, scale_bits=x.scale_bits + added, is_real=x.encoding.is_real or plain.is_real)
    return encode_fixed_point(plain, added, None), encoding


def _check_one_factor_per_ciphertext(x: Array, factors: IntegerArray) -> None:
    """Raise InputError where the slots of a ciphertext would need different factors."""
    if x.encoding.packing and factors.ndim and factors.shape[-1] != 1:
        raise InputError(
            "the slots of a packed array share a ciphertext and so one factor",
            expected="a plain scalar, or an array with size 1 along the last axis",
            got=f"shape {factors.shape}",
            cure="multiply before encryption, or encrypt without pack=",
        )
