"""A round under Paillier: a ciphertext for each number, one plaintext each, with masks uniform mod n.

A share mod 2^128 is encrypted as the integer that it is, so a host's product is right mod 2^128, and below
2^OFFSET_BITS in magnitude. The host adds 2^OFFSET_BITS, a multiple of 2^128, so that no sum is negative. One mask mod n
covers a whole plaintext; a sum far below n passes n under its mask with odds below 2^-1024. So both shares add up to
the sum exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LimbArray
from hekat.errors import InputError
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.encrypted_model.arithmetic.blame import blame
from hekat.protocol.encrypted_model.arithmetic.fixed_point import IntegerMap
from hekat.protocol.encrypted_model.set_up.host_seeds import HostSeeds
from hekat.protocol.shares.share_array import RING_BITS, ShareArray, negate, signed_integers
from hekat.scheme.paillier import (
    Ciphertexts,
    KeyPair,
    PublicKey,
    add_many,
    add_plain,
    add_uniform,
    decrypt,
    encrypt,
    matmul_plain,
    rerandomise,
)
from hekat.scheme.paillier.encrypt import plaintext_residues
from hekat.wire import from_bytes, to_bytes

# 4,096 products of 28 bits with 129 are below 2^170.
OFFSET_BITS: Final = 180
_EXTRA_BYTES: Final = 16
_LIMBS: Final = 2


class PaillierArbiter:
    """Encrypts and opens under its own key."""

    def __init__(self, pair: KeyPair, shape: tuple[int, int]) -> None:
        self._pair, self._shape = pair, shape

    def encrypt(self, share: ShareArray) -> bytes:
        return to_bytes(encrypt(self._pair.private, _plain(share)).reshape(self._shape))

    def open(self, total: bytes) -> ShareArray:
        masked = _read(total, self._pair.public, self._shape)
        opened = decrypt(self._pair.private, masked)
        return _low_limbs(plaintext_residues(self._pair.public, opened.limbs, masked.engine), self._shape)


class PaillierAggregator:
    """Adds plaintexts to ciphertexts, and ciphertexts to each other."""

    def __init__(self, key: PublicKey, shape: tuple[int, int]) -> None:
        self._key, self._shape = key, shape

    def complete(self, share: bytes, own: ShareArray) -> bytes:
        return to_bytes(add_plain(_read(share, self._key, self._shape), _plain(own)))

    def add(self, updates: Mapping[str, bytes]) -> tuple[bytes, ShareArray]:
        read = []
        for host, update in updates.items():
            with blame(host):
                read.append(_read(update, self._key, self._shape))
        hidden, masks = add_uniform(add_many(read))
        return to_bytes(hidden), negate(_low_limbs(masks, self._shape))


class PaillierHost:
    """Multiplies what it cannot open, and re-randomises: products show their factors otherwise."""

    def __init__(self, key: PublicKey, own: IntegerMap, seeds: HostSeeds) -> None:
        self._key, self._own, self._seeds = key, own, seeds
        self._addend = signed_integers(own.offset) % (1 << RING_BITS) + (1 << OFFSET_BITS)

    def update(self, weights: bytes, round_number: int) -> bytes:
        shape = self._addend.shape
        products = matmul_plain(self._own.matrix, _read(weights, self._key, shape))
        added, taken = self._seeds.cancelling(f"round-{round_number}", self._grow)
        addend = (self._addend + sum(added) - sum(taken)) % self._key.n
        # Plaintexts are signed: the upper half of the residues stands for negative numbers.
        centred = np.where(addend > self._key.n // 2, addend - self._key.n, addend)
        return to_bytes(rerandomise(add_plain(products, centred)))

    def _grow(self, seed: bytes) -> npt.NDArray[np.object_]:
        """Integers mod n for every number, each within 2^-128 of uniform."""
        width = self._key.bits // 8 + _EXTRA_BYTES
        stream = hashlib.shake_256(seed).digest(width * self._addend.size)
        numbers = [
            int.from_bytes(stream[start : start + width], "little") % self._key.n
            for start in range(0, len(stream), width)
        ]
        return np.array(numbers, object).reshape(self._addend.shape)


def _plain(share: ShareArray) -> PackedPlaintext:
    flat = share.reshape(-1, _LIMBS)
    # A limb of zeros, since plaintexts have a sign.
    limbs = np.concatenate([flat, np.zeros((len(flat), 1), np.uint64)], axis=1)
    return PackedPlaintext(limbs, (1 << RING_BITS) - 1)


def _low_limbs(residues: LimbArray, shape: tuple[int, int]) -> ShareArray:
    """Numbers mod 2^128 of residues (count, limbs)."""
    return np.ascontiguousarray(residues[:, :_LIMBS]).reshape(*shape, _LIMBS)


def _read(data: bytes, key: PublicKey, shape: tuple[int, ...]) -> Ciphertexts:
    read = from_bytes(data, Ciphertexts, public_key=key)
    if read.shape != shape:
        raise InputError("another number of ciphertexts", expected=f"shape {shape}", got=f"{read.shape}")
    return read
