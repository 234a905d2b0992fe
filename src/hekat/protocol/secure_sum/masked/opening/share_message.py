"""What a dealer tells of one upload's shares: the offset, digests of the shares, and what members check of them.

The offset as bytes: 32 of fresh salt, then N little-endian 16-bit words. A member's digest binds session, upload
number, dealer and member, the member's keys, which hide it, and the offset: so it binds the share that follows.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from hekat.channel.canonical import encode_fields
from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.field import (
    ELEMENT_BYTES,
    OUT_OF_RANGE,
    WRONG_LENGTH,
    FieldArray,
    read_elements,
    write_elements,
)
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

SALT_BYTES = 32
DEALING_PURPOSE = "hekat/lattice/dealing/2"
NO_SHARE = "no share came"
NO_LIST = "its list of digests is malformed or not signed by it"
WRONG_DIGEST = "a share that is not the one its dealer signed"
# Reasons for which a member refuses a share; fixed texts, since other roles receive them.
REFUSALS = frozenset({NO_SHARE, NO_LIST, WRONG_LENGTH, WRONG_DIGEST, OUT_OF_RANGE})
_DIGEST_LABEL = b"hekat/lattice/share/2"


@dataclass(frozen=True)
class DigestList:
    """What a dealer shows to all: the digests of its shares in the members' order, its signature, and the offset."""

    digests: tuple[bytes, ...]
    signature: bytes
    offset: bytes = b""


def dealing_fields(context: UploadContext, digests: Sequence[bytes], offset: bytes) -> tuple[bytes, ...]:
    """What a dealer signs, for DEALING_PURPOSE: session, number, SHA-256 of the offset, and all of its digests."""
    return *context.upload_fields, hashlib.sha256(offset).digest(), *digests


def draw_salt() -> bytes:
    """A fresh salt of one dealing: no snapshot or fork of a machine hides two secrets by the same numbers."""
    return os.urandom(SALT_BYTES)


def write_offset(salt: bytes, offset: FieldArray) -> bytes:
    """The bytes of an offset, which hide the secret from whoever lacks a key."""
    return salt + write_elements(offset)


def offset_bytes(degree: int) -> int:
    """How long these bytes are."""
    return SALT_BYTES + ELEMENT_BYTES * degree


def read_offset(written: bytes, degree: int) -> tuple[bytes, FieldArray]:
    """(salt, offset).

    Raises ProtocolError, its `what` one of REFUSALS, for another length, and for words from the prime on.
    """
    if len(written) != offset_bytes(degree):
        raise ProtocolError(WRONG_LENGTH, expected=f"{offset_bytes(degree)} bytes", got=f"{len(written)}")
    return written[:SALT_BYTES], read_elements(written[SALT_BYTES:], degree)


def share_digest(context: UploadContext, dealer: str, member: str, keys: bytes, offset: bytes) -> bytes:
    """SHA-256 over label, session, number, dealer, member, the member's keys and SHA-256 of the offset.

    Keys have 256 random bits, so the digest hides them without a salt.
    """
    fields = (*context.upload_fields, dealer.encode(), member.encode(), keys, hashlib.sha256(offset).digest())
    return hashlib.sha256(encode_fields(_DIGEST_LABEL, *fields)).digest()
