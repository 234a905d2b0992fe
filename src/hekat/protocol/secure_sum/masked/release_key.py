"""The key under which releases go to the parties by the aggregator, which lacks it.

The first party draws it for a session and gives it to every other party, and to a key authority. Each of them makes the
key of an upload from it once the included set is stated, and then writes a hash over it: who reads it later opens
nothing of what was released before. An upload's key gives each member one of its own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hekat.channel.canonical import encode_fields
from hekat.channel.pair_key import TAG_BYTES
from hekat.channel.statements import Statements
from hekat.errors import KeyRefusedError, SealError
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet
from hekat.protocol.secure_sum.run_keys import RUN_KEY_BYTES

RELEASE_PURPOSE = "hekat/lattice/release/2"
SEAL_BYTES = TAG_BYTES
"""How much longer a sealed release is than its content."""
_FINGERPRINT_LABEL = b"hekat/lattice/release-key/1"
_UPLOAD_LABEL = b"hekat/lattice/upload-release-key/1"
_MEMBER_LABEL = b"hekat/lattice/member-release-key/1"
_NEXT_LABEL = b"hekat/lattice/next-release-key/1"
# A member's key of an upload seals one content: what its shares sum up to over the one set that the key is of.
_NONCE = bytes(12)


class ReleaseKey:
    """What one role holds of it: the key of the uploads to come, and of the one that is being opened. Secret."""

    __slots__ = ("_fingerprint", "_next", "_upload")

    def __init__(self, raw: bytes) -> None:
        """Raises KeyRefusedError for another length than 32 bytes."""
        if len(raw) != RUN_KEY_BYTES:
            raise KeyRefusedError("not a release key", expected=f"{RUN_KEY_BYTES} bytes", got=f"{len(raw)}")
        # Arrays can be written over; bytes cannot.
        self._next, self._upload = bytearray(raw), bytearray()
        self._fingerprint = hashlib.sha256(encode_fields(_FINGERPRINT_LABEL, raw)).digest()

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of label and key as it was drawn: by the agreement of uploads all parties hold the same one."""
        return self._fingerprint

    def begin(self, included: IncludedSet) -> None:
        """Make the key of this upload and set; the session's moves on, and so it is once for each set that is stated.

        HMAC-SHA-256(key, label, session, number, digest of the statement), and HMAC-SHA-256(key, label).
        """
        self.forget()
        fields = encode_fields(_UPLOAD_LABEL, *included.context.upload_fields, included.digest)
        self._upload = bytearray(hmac.digest(self._next, fields, hashlib.sha256))
        self._next[:] = hmac.digest(self._next, _NEXT_LABEL, hashlib.sha256)

    def seal(self, member: str, content: bytes) -> bytes:
        """A member's release of this upload, SEAL_BYTES longer than its content; the same bytes for the same content.

        AES-256-GCM, nonce 0, under HMAC-SHA-256(key of the upload, label, member).
        """
        return self._cipher(member).encrypt(_NONCE, content, None)

    def open(self, member: str, sealed: bytes) -> bytes:
        """The content of that member's release of this upload. Raises SealError for anything else."""
        try:
            return self._cipher(member).decrypt(_NONCE, sealed, None)
        except InvalidTag:
            raise SealError(
                "a release does not open",
                expected="one that this member sealed for this upload and set",
                got="altered bytes, or another key's",
            ) from None

    def forget(self) -> None:
        """Write zeros over the key of this upload: it is opened, or it never is."""
        self._upload[:] = bytes(len(self._upload))
        self._upload = bytearray()

    def wipe(self) -> None:
        """Write zeros over all of it: no upload follows."""
        self.forget()
        self._next[:] = bytes(len(self._next))

    def _cipher(self, member: str) -> AESGCM:
        if not self._upload:
            raise SealError("there is no key of this upload", expected="a set that was stated", got="none")
        return AESGCM(hmac.digest(self._upload, encode_fields(_MEMBER_LABEL, member.encode()), hashlib.sha256))

    def __repr__(self) -> str:
        return "ReleaseKey(secret)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a ReleaseKey is not copied or pickled: it lives for one session")


def release_fields(included: IncludedSet, sealed: bytes) -> tuple[bytes, ...]:
    """What a member signs for RELEASE_PURPOSE: session, number, digest of the statement, SHA-256 of its release."""
    return *included.context.upload_fields, included.digest, hashlib.sha256(sealed).digest()


def release_statements(
    included: IncludedSet, releases: Mapping[str, bytes], signatures: Mapping[str, bytes]
) -> Statements:
    """For every release its member, its signature, and what that is over."""
    return tuple(
        (member, signatures.get(member, b""), release_fields(included, sealed)) for member, sealed in releases.items()
    )
