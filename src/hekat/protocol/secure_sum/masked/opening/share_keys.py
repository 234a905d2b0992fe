"""Keys that a dealer draws once a session, and from which members' shares of all its secrets follow.

For each set T of t - 1 members there is one key; the other c - t + 1 members hold it, and T lacks it. Both ends expand
it to fresh numbers for each upload (`shamir` says what becomes of them), and then write a hash over it: who reads a
key later cannot open what was dealt before.

Source: Cramer, Damgaard and Ishai, Share conversion, pseudorandom secret-sharing and applications to secure
computation, TCC 2005.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from hekat.channel.canonical import encode_fields
from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.opening.field import FieldArray, take_elements
from hekat.protocol.secure_sum.masked.opening.shamir import held_sets, lacking_sets
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

KEY_BYTES = 32
_EXPAND_LABEL = b"hekat/lattice/share-numbers/1"
_NEXT_LABEL = b"hekat/lattice/next-share-key/1"
# A key is expanded for one upload alone, so that the cipher needs no nonce.
_COUNTER_AND_NONCE = bytes(16)


class ShareKeys:
    """The keys of one dealer that one role holds, in the order of the sets T. Secret."""

    __slots__ = ("_raw",)

    def __init__(self, raw: bytes) -> None:
        if not raw or len(raw) % KEY_BYTES:
            raise InputError("not keys of shares", expected=f"some of {KEY_BYTES} bytes", got=f"{len(raw)} bytes")
        # An array can be written over; bytes cannot.
        self._raw = bytearray(raw)

    @classmethod
    def draw(cls, member_count: int, threshold: int) -> ShareKeys:
        """A dealer's keys, one for each set T, of the operating system's randomness."""
        return cls(secrets.token_bytes(KEY_BYTES * len(lacking_sets(member_count, threshold))))

    @property
    def as_bytes(self) -> bytes:
        """All keys, one after the other."""
        return bytes(self._raw)

    def held_by(self, point: int, member_count: int, threshold: int) -> bytes:
        """The keys of a dealer that the member at `point` holds, one after the other."""
        held = held_sets(point, member_count, threshold)
        return b"".join(self._raw[KEY_BYTES * index : KEY_BYTES * (index + 1)] for index in held)

    def advance(self) -> None:
        """Write the keys of the next upload over these: HMAC-SHA-256 of each."""
        for start in range(0, len(self._raw), KEY_BYTES):
            key = self._raw[start : start + KEY_BYTES]
            self._raw[start : start + KEY_BYTES] = hmac.digest(key, _NEXT_LABEL, hashlib.sha256)

    def wipe(self) -> None:
        """Write zeros over the keys."""
        self._raw[:] = bytes(len(self._raw))

    def __repr__(self) -> str:
        return "ShareKeys(secret)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("ShareKeys are not copied or pickled: they live for one session")


def key_bytes_of_member(member_count: int, threshold: int) -> int:
    """Bytes of all keys of one dealer that a member holds."""
    return KEY_BYTES * len(held_sets(1, member_count, threshold))


def expand_keys(keys: bytes, context: UploadContext, dealer: str, salt: bytes, count: int) -> FieldArray:
    """`count` elements of every key, one row a key, for one upload of the dealer; secret: wipe them.

    The ChaCha20 stream under HMAC-SHA-256(key, label, session, number, dealer, salt), its counter and nonce 0: the
    16-bit little-endian words below 65521, in their order.
    """
    info = encode_fields(_EXPAND_LABEL, *context.upload_fields, dealer.encode(), salt)
    rows = np.empty((len(keys) // KEY_BYTES, count), np.uint16)
    for row, start in zip(rows, range(0, len(keys), KEY_BYTES), strict=True):
        upload_key = hmac.digest(keys[start : start + KEY_BYTES], info, hashlib.sha256)
        row[:] = take_elements(lambda size, key=upload_key: _stream(key, size), count)  # type: ignore[misc]
    return rows


def _stream(key: bytes, size: int) -> bytes:
    return Cipher(ChaCha20(key, _COUNTER_AND_NONCE), mode=None).encryptor().update(bytes(size))
