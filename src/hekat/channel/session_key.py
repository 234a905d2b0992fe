"""HPKE keys (RFC 9180) under which pair keys travel while a session opens.

The suite is ML-KEM-768 with X25519 (X-Wing, draft-connolly-cfrg-xwing-kem: KEM 0x647a), HKDF-SHA-256, AES-128-GCM. A
draft, not yet a standard: the library's version is pinned, and a test opens kept bytes by the draft's own parts
(tests/channel/test_session_key_vector.py).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import (
    AEAD,
    KDF,
    KEM,
    MLKEM768X25519PrivateKey,
    MLKEM768X25519PublicKey,
    Suite,
)

from hekat.errors import SealError

_SUITE = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_MLKEM_PUBLIC_BYTES = 1184
_X25519_PUBLIC_BYTES = 32
_TAG_BYTES = 16

PUBLIC_BYTES = _MLKEM_PUBLIC_BYTES + _X25519_PUBLIC_BYTES
OVERHEAD_BYTES = KEM.MLKEM768_X25519.enc_length() + _TAG_BYTES
"""How much longer what is sealed is than its content."""


class SessionPublicKey:
    """The half of a session key that others seal to; 1216 bytes: ML-KEM-768, then X25519."""

    __slots__ = ("_key", "raw")

    def __init__(self, raw: bytes) -> None:
        """Raises SealError where `raw` is no such key."""
        refused = SealError(
            "malformed session key", expected=f"{PUBLIC_BYTES} bytes of a valid key", got=f"{len(raw)} bytes"
        )
        if len(raw) != PUBLIC_BYTES:
            raise refused
        try:
            self._key = MLKEM768X25519PublicKey(
                MLKEM768PublicKey.from_public_bytes(raw[:_MLKEM_PUBLIC_BYTES]),
                X25519PublicKey.from_public_bytes(raw[_MLKEM_PUBLIC_BYTES:]),
            )
        except ValueError:
            raise refused from None
        self.raw = raw

    def seal(self, content: bytes | bytearray | memoryview, info: bytes) -> bytes:
        """`content` for the holder of the private half, bound to `info`; OVERHEAD_BYTES longer, fresh each time."""
        try:
            return _SUITE.encrypt(content, self._key, info)
        except ValueError:
            # An X25519 key of small order is found only here.
            raise SealError(
                "the receiver's session key is unusable", cure="the receiver must start a new session"
            ) from None


@lru_cache(maxsize=1024)
def read_session_key(raw: bytes) -> SessionPublicKey:
    """The key of these bytes; of a process that plays many roles, each role is told the same ones. Raises SealError."""
    return SessionPublicKey(raw)


class SessionKey:
    """A fresh key pair of one party for one session, dropped once that is open: later theft opens no pair key."""

    __slots__ = ("_private", "public")

    def __init__(self) -> None:
        mlkem, x25519 = MLKEM768PrivateKey.generate(), X25519PrivateKey.generate()
        self._private = MLKEM768X25519PrivateKey(mlkem, x25519)
        self.public = SessionPublicKey(mlkem.public_key().public_bytes_raw() + x25519.public_key().public_bytes_raw())

    def open(self, sealed: bytes | memoryview, info: bytes) -> bytes:
        """The content that was sealed to this key under the same `info`. Raises SealError where it was not."""
        try:
            return _SUITE.decrypt(sealed, self._private, info)
        except (InvalidTag, ValueError):
            raise SealError(
                "a sealed key does not open",
                expected="a key sealed to this session's key for this sender and receiver",
                got="altered bytes, or another key's",
            ) from None

    def __repr__(self) -> str:
        return "SessionKey(private)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a SessionKey is not copied or pickled: it lives while a session opens")
