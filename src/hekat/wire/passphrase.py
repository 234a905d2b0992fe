"""Bytes under a passphrase: scrypt makes the key, AES-256-GCM seals.

Sources: RFC 7914 (scrypt), NIST SP 800-38D (GCM).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from hekat.errors import InputError, KeyRefusedError, WireCorruptError, WireOversizeError

KEY_BYTES = 32
SALT_BYTES = 16
NONCE_BYTES = 12
TAG_BYTES = 16
MIN_LOG2_COST = 14
MAX_MEMORY_BYTES = 1 << 28


@dataclass(frozen=True)
class ScryptCost:
    """scrypt's n = 2^log2_cost, r = block_size, p = parallelism: n * r * 128 bytes of memory, p times over."""

    log2_cost: int = 17
    block_size: int = 8
    parallelism: int = 1

    def check(self) -> None:
        """Raise WireOversizeError or WireCorruptError unless a reader may spend this much (and it protects at all)."""
        if not (1 <= self.block_size <= 32 and 1 <= self.parallelism <= 4 and self.log2_cost >= MIN_LOG2_COST):
            raise WireCorruptError(
                "scrypt parameters refused",
                expected=f"n of at least 2^{MIN_LOG2_COST}, r from 1 to 32, p from 1 to 4",
                got=f"n = 2^{self.log2_cost}, r = {self.block_size}, p = {self.parallelism}",
            )
        if self.log2_cost > 32 or 128 * self.block_size << self.log2_cost > MAX_MEMORY_BYTES:
            raise WireOversizeError(
                "scrypt parameters ask for too much memory",
                expected=f"at most {MAX_MEMORY_BYTES >> 20} MiB",
                got=f"n = 2^{self.log2_cost}, r = {self.block_size}",
            )


@dataclass(frozen=True)
class SealedBytes:
    """What `seal` made: everything `unseal` needs but the passphrase."""

    cost: ScryptCost
    salt: bytes
    nonce: bytes
    content: bytes


def seal(content: bytes, passphrase: bytes, *, context: bytes, cost: ScryptCost) -> SealedBytes:
    """`content` under `passphrase`, bound to the public bytes `context`. Salt and nonce are fresh from the system."""
    salt, nonce = os.urandom(SALT_BYTES), os.urandom(NONCE_BYTES)
    key = _derive_key(passphrase, salt, cost)
    return SealedBytes(cost, salt, nonce, AESGCM(key).encrypt(nonce, content, context))


def unseal(sealed: SealedBytes, passphrase: bytes, *, context: bytes) -> bytes:
    """The content. Raises KeyRefusedError where the passphrase is another one or anything was altered."""
    if len(sealed.salt) != SALT_BYTES or len(sealed.nonce) != NONCE_BYTES or len(sealed.content) < TAG_BYTES:
        raise WireCorruptError("sealed bytes with parts of another size", expected="salt, nonce and tag as written")
    key = _derive_key(passphrase, sealed.salt, sealed.cost)
    try:
        return AESGCM(key).decrypt(sealed.nonce, sealed.content, context)
    except InvalidTag:
        raise KeyRefusedError(
            "the passphrase does not open the key file (or somebody altered the file)",
            expected="the passphrase it was saved under",
            got="another one",
            cure="try again; without the passphrase the key is lost",
        ) from None


def check_passphrase(passphrase: bytes) -> None:
    """Raise InputError unless `passphrase` can protect something."""
    if not isinstance(passphrase, bytes) or not passphrase:
        raise InputError(
            "passphrase refused",
            expected="at least one byte, as bytes",
            got="an empty one" if isinstance(passphrase, bytes) else type(passphrase).__name__,
            cure="give a passphrase of several words",
        )


def _derive_key(passphrase: bytes, salt: bytes, cost: ScryptCost) -> bytes:
    check_passphrase(passphrase)
    cost.check()
    scrypt = Scrypt(salt=salt, length=KEY_BYTES, n=1 << cost.log2_cost, r=cost.block_size, p=cost.parallelism)
    return scrypt.derive(passphrase)
