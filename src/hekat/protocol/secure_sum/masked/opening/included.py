"""The aggregator's statement of the uploads that a sum holds, its digest, and what every role checks of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hekat.channel.canonical import encode_fields
from hekat.channel.statements import Statements
from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.upload_context import DIGEST_BYTES, FindUnsigned, UploadContext

UPLOAD_PURPOSE = "hekat/lattice/upload/1"
_BLOCKS_LABEL = b"hekat/lattice/upload-blocks/1"
_STATEMENT_LABEL = b"hekat/lattice/included/1"
_COMMITTED_LABEL = b"hekat/lattice/included/2"
_PARTIES_LABEL = b"hekat/lattice/included-parties/1"
_CURE = "release nothing; abandon this upload number, and ask the aggregator's operator"
_MOST_SHOWN = 40


@dataclass(frozen=True)
class IncludedUpload:
    """One party's upload in the sum: digests of the upload and of its shares (or seed, or salt), and its signature."""

    party: str
    upload_digest: bytes
    share_digests: tuple[bytes, ...]
    signature: bytes


@dataclass(frozen=True)
class IncludedSet:
    """The set U: its upload number and its uploads, sorted by party.

    `commitment`: to the whole sum, in a job that checks sums; otherwise empty.
    """

    context: UploadContext
    uploads: tuple[IncludedUpload, ...]
    commitment: bytes = b""

    @property
    def parties(self) -> tuple[str, ...]:
        """The parties of these uploads."""
        return tuple(upload.party for upload in self.uploads)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 over label, session, number, step, set name, and all of every upload; what releases name.

        With a commitment the label differs, and the commitment stands behind the agreement.
        """
        uploads = [
            encode_fields(upload.party.encode(), upload.upload_digest, upload.signature, *upload.share_digests)
            for upload in self.uploads
        ]
        if self.commitment:
            return _hash(_COMMITTED_LABEL, *self.context.statement_fields, self.commitment, *uploads)
        return _hash(_STATEMENT_LABEL, *self.context.statement_fields, *uploads)

    @cached_property
    def statements(self) -> Statements:
        """For every upload its party, its signature, and what that is over."""
        return tuple(
            (one.party, one.signature, upload_fields(self.context, one.upload_digest, one.share_digests))
            for one in self.uploads
        )

    @property
    def parties_digest(self) -> bytes:
        """The same for a second attempt of the same step by the same parties."""
        return parties_digest_of(self.parties)


def parties_digest_of(parties: Iterable[str]) -> bytes:
    """SHA-256 over label and sorted names."""
    return _hash(_PARTIES_LABEL, *(party.encode() for party in sorted(parties)))


def upload_fields(context: UploadContext, upload_digest: bytes, share_digests: Sequence[bytes]) -> tuple[bytes, ...]:
    """What a party signs for UPLOAD_PURPOSE: session, number, step, set name, agreement, upload and share digests."""
    return *context.statement_fields, upload_digest, *share_digests


def upload_digest_of(block_digests: Iterable[bytes]) -> bytes:
    """SHA-256 over label and the SHA-256 of every block's message, in order: what both ends' ledgers hold of it."""
    return _hash(_BLOCKS_LABEL, *block_digests)


def state_included(context: UploadContext, uploads: Collection[IncludedUpload], commitment: bytes = b"") -> IncludedSet:
    """The statement with its uploads sorted by party."""
    return IncludedSet(context, tuple(sorted(uploads, key=lambda upload: upload.party)), commitment)


def check_included(
    included: IncludedSet,
    context: UploadContext,
    parties: Collection[str],
    least_included: int,
    find_unsigned: FindUnsigned,
    share_digests: Mapping[str, Sequence[bytes]] | None = None,
) -> None:
    """Raise ProtocolError, naming the party at fault, unless the set may be summed and opened.

    The set is of this upload. Its parties are some of `parties`, sorted, none twice, at least `least_included`. No two
    have the same upload, and each signed exactly what is stated. `share_digests`, by party, are the digests that a
    member checked its shares against, of good dealers only: the set states the same ones.
    """
    if included.context != context:
        _refuse("is of another upload", f"number {context.number}, {context.step!r}", "another one")
    stated = included.parties
    unknown = sorted(set(stated) - set(parties))
    if unknown:
        _refuse("holds a party that takes no part", "parties of this step", repr(unknown[0])[:_MOST_SHOWN])
    if list(stated) != sorted(set(stated)):
        _refuse("holds a party twice, or is not sorted", "every party once, sorted", f"{len(stated)} entries")
    if len(stated) < least_included:
        _refuse("is too small", f"at least {least_included} parties", f"{len(stated)}")
    if len({upload.upload_digest for upload in included.uploads}) != len(stated):
        _refuse("holds an upload twice", "a different upload of every party", "two that are equal")
    for upload in included.uploads:
        if any(len(digest) != DIGEST_BYTES for digest in (upload.upload_digest, *upload.share_digests)):
            _refuse(f"is malformed at {upload.party!r}", f"digests of {DIGEST_BYTES} bytes", "others")
    unsigned = find_unsigned(UPLOAD_PURPOSE, included.statements)
    if unsigned is not None:
        _refuse(f"holds what {unsigned!r} did not sign", "its signature over exactly this upload", "another one")
    for upload in included.uploads:
        if share_digests is not None and tuple(share_digests.get(upload.party, ())) != upload.share_digests:
            _refuse(f"names other shares of {upload.party!r}", "those that were checked, of a good dealer", "others")


def _hash(*fields: bytes) -> bytes:
    return hashlib.sha256(encode_fields(*fields)).digest()


def _refuse(what: str, expected: str, got: str) -> None:
    raise ProtocolError(f"the stated set of uploads {what}", expected=expected, got=got, cure=_CURE)
