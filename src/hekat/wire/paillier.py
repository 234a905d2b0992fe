"""Wire bytes of Paillier keys and ciphertexts.

A ciphertext takes exactly ceil(2 * bits / 8) bytes, little-endian, and stands only for values from 1 to n^2 - 1, so
equal ciphertexts have equal bytes. Each batch names the fingerprint of its key.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from hekat.engine.limbs import LIMB_BYTES, LimbArray, limbs_for_bits
from hekat.errors import InputError, WireCorruptError, WireKeyError
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.keys import PrivateKey, PublicKey, check_strength
from hekat.wire.array_field import MAX_DIMENSION, MAX_DIMENSION_COUNT
from hekat.wire.fields import IntField
from hekat.wire.kinds import Kind, ReadingContext, register

FINGERPRINT = re.compile("[0-9a-f]{32}", re.ASCII)

_INTEGER = IntField()


def ciphertext_bytes(key: PublicKey) -> int:
    """Bytes of one ciphertext under `key` on the wire."""
    return (2 * key.bits + 7) // 8


def _public_key_items(key: PublicKey) -> dict[str, Any]:
    return {"n": _INTEGER.encode(key.n, "n of a public key")}


def _public_key(items: Any, context: ReadingContext) -> PublicKey:
    (n,) = _integers(items, "public key", ("n",))
    key = PublicKey(n)
    check_strength(key, context.unsafe_for_benchmark)
    return key


def _private_key_items(key: PrivateKey) -> dict[str, Any]:
    return {name: _INTEGER.encode(getattr(key, name), f"{name} of a private key") for name in ("p", "q")}


def _private_key(items: Any, context: ReadingContext) -> PrivateKey:
    p, q = _integers(items, "private key", ("p", "q"))
    key = PrivateKey(p, q)
    check_strength(key, context.unsafe_for_benchmark)
    return key


def _ciphertexts_items(ciphertexts: Ciphertexts) -> dict[str, Any]:
    key = ciphertexts.public
    limbs = ciphertexts.to_limbs()
    width = ciphertext_bytes(key)
    octets = np.ascontiguousarray(limbs, dtype="<u8").view(np.uint8).reshape(-1, limbs.shape[-1] * LIMB_BYTES)
    return {
        "key": key.fingerprint,
        "shape": list(ciphertexts.shape),
        "residues": octets[:, :width].tobytes(),
    }


def _ciphertexts(items: Any, context: ReadingContext) -> Ciphertexts:
    key = context.public_key
    if key is None:
        raise InputError(
            "ciphertexts cannot be read without their public key",
            expected="from_bytes(data, Ciphertexts, public_key=...)",
            got="no public key",
        )
    _check_names(items, "ciphertexts", ("key", "shape", "residues"))
    _check_same_key(items["key"], key)
    shape = _checked_shape(items["shape"])
    limbs = _limbs(items["residues"], shape, key)
    try:
        return Ciphertexts.from_limbs(key, limbs, context.engine)
    except InputError:
        raise WireCorruptError(
            "a ciphertext is out of range", expected="values from 1 to n^2 - 1", got="0, or n^2 or more"
        ) from None


def _limbs(data: Any, shape: tuple[int, ...], key: PublicKey) -> LimbArray:
    """Canonical limbs of shape (*shape, limbs)."""
    width = ciphertext_bytes(key)
    count = math.prod(shape)
    if not isinstance(data, bytes) or len(data) != count * width:
        raise WireCorruptError(
            "ciphertexts and their shape do not agree",
            expected=f"{count * width} bytes for {count} ciphertexts",
            got=f"{len(data)} bytes" if isinstance(data, bytes) else "no bytes",
        )
    limb_count = limbs_for_bits(2 * key.bits)
    octets = np.zeros((count, limb_count * LIMB_BYTES), dtype=np.uint8)
    octets[:, :width] = np.frombuffer(data, dtype=np.uint8).reshape(count, width)
    limbs = octets.view("<u8").astype(np.uint64, copy=False)
    try:
        return limbs.reshape(*shape, limb_count)
    except ValueError:
        # No ciphertexts at all, and other dimensions that multiply past the address space.
        raise _bad_shape() from None


def _checked_shape(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSION_COUNT:
        raise _bad_shape()
    if not all(type(size) is int and 0 <= size <= MAX_DIMENSION for size in shape):
        raise _bad_shape()
    return tuple(shape)


def _bad_shape() -> WireCorruptError:
    return WireCorruptError(
        "ciphertexts have a shape out of range",
        expected=f"at most {MAX_DIMENSION_COUNT} dimensions of at most {MAX_DIMENSION}",
    )


def _check_same_key(fingerprint: Any, key: PublicKey) -> None:
    if not isinstance(fingerprint, str) or not FINGERPRINT.fullmatch(fingerprint):
        raise WireCorruptError("ciphertexts name no key", expected="a fingerprint of 32 hex digits")
    if fingerprint != key.fingerprint:
        raise WireKeyError(
            "ciphertexts are under another key",
            expected=f"key {key.fingerprint}",
            got=f"key {fingerprint}",
            cure="use the public key they were made with, or encrypt anew under this one",
        )


def _integers(items: Any, what: str, names: tuple[str, ...]) -> list[int]:
    _check_names(items, what, names)
    numbers = [_INTEGER.decode(items[name], f"{name} of a {what}") for name in names]
    if min(numbers) < 0:
        raise WireCorruptError(f"{what} with a negative number", expected="positive integers")
    return numbers


def _check_names(items: Any, what: str, names: tuple[str, ...]) -> None:
    if not isinstance(items, dict) or tuple(items) != names:
        raise WireCorruptError(f"{what} with other parts", expected=", ".join(names))


register(Kind("paillier/public-key", 1, PublicKey, _public_key_items, _public_key))
register(Kind("paillier/private-key", 1, PrivateKey, _private_key_items, _private_key))
register(Kind("paillier/ciphertexts", 1, Ciphertexts, _ciphertexts_items, _ciphertexts))
