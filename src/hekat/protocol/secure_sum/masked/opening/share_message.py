"""One dealer's share for one member as bytes, its digest, and what a member checks before it keeps it.

Bytes: 16 of salt, then the N + 8 values as little-endian 16-bit words. The digest hides the share because the salt is
fresh, and binds it to session, upload number, dealer and member.
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
from hekat.protocol.secure_sum.masked.opening.shamir import CHECKS
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

SALT_BYTES = 16
DEALING_PURPOSE = "hekat/lattice/dealing/1"
NO_SHARE = "no share came"
NO_LIST = "its list of digests is malformed or not signed by it"
WRONG_DIGEST = "a share that is not the one its dealer signed"
# Reasons for which a member refuses a share; fixed texts, since other roles receive them.
REFUSALS = frozenset({NO_SHARE, NO_LIST, WRONG_LENGTH, WRONG_DIGEST, OUT_OF_RANGE})
_DIGEST_LABEL = b"hekat/lattice/share/1"


@dataclass(frozen=True)
class DigestList:
    """What a dealer shows to all: the digests of its share messages in the members' order, and its signature."""

    digests: tuple[bytes, ...]
    signature: bytes


def dealing_fields(context: UploadContext, digests: Sequence[bytes]) -> tuple[bytes, ...]:
    """What a dealer signs, for DEALING_PURPOSE: session, number and all of its digests."""
    return *context.upload_fields, *digests


def write_share(share: FieldArray) -> bytes:
    """The message for one member, with a fresh salt; secret, so it travels sealed."""
    return os.urandom(SALT_BYTES) + write_elements(share)


def share_digest(context: UploadContext, dealer: str, member: str, message: bytes) -> bytes:
    """SHA-256 over label, session, number, dealer, member, salt and share, each behind its length."""
    salt, share = message[:SALT_BYTES], message[SALT_BYTES:]
    fields = (*context.upload_fields, dealer.encode(), member.encode(), salt, share)
    return hashlib.sha256(encode_fields(_DIGEST_LABEL, *fields)).digest()


def read_share(
    context: UploadContext, dealer: str, member: str, message: bytes, digest: bytes, degree: int
) -> FieldArray:
    """The N + 8 values of a share message, an array of its own that can be wiped.

    Raises ProtocolError whose `what` is one of REFUSALS: for another length, another digest (a share of another
    session, number, dealer or member has one), and values from the prime on.
    """
    expected = SALT_BYTES + ELEMENT_BYTES * (degree + CHECKS)
    if len(message) != expected:
        raise ProtocolError(WRONG_LENGTH, expected=f"{expected} bytes", got=f"{len(message)}")
    if share_digest(context, dealer, member, message) != digest:
        raise ProtocolError(WRONG_DIGEST, expected="a message of the stated digest")
    return read_elements(message[SALT_BYTES:], degree + CHECKS)
