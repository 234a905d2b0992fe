"""The frame around every Hekat object: magic, versions, kind, length, body, checksum.

Layout, all integers little-endian:

    4  magic "HKAT"            k  kind, ASCII such as "paillier/ciphertexts"
    2  format version          2  version of that kind
    1  k, length of the kind   8  b, length of the body
                               b  body
                              16  BLAKE2b-128 over everything before it

The checksum catches accidental change. It is no signature: an attacker who alters bytes on purpose computes it anew;
sealing and signing are the channel's duty.
"""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass
from functools import lru_cache

from hekat.errors import (
    InputError,
    WireCorruptError,
    WireOversizeError,
    WireTruncatedError,
    WireVersionError,
)

MAGIC = b"HKAT"
FORMAT_VERSION = 1
CHECKSUM_BYTES = 16
MAX_FRAME_BYTES = 1 << 30
MAX_VERSION = (1 << 16) - 1

Buffer = bytes | bytearray | memoryview

_START = struct.Struct("<4sHB")
_LENGTHS = struct.Struct("<HQ")
_KIND = re.compile(r"[a-z0-9][a-z0-9_\-]*(/[a-z0-9][a-z0-9_\-]*)*", re.ASCII)
_MAX_KIND_CHARACTERS = 64
_PERSON = b"hekat.wire.frame"


@dataclass(frozen=True)
class Frame:
    """One object in its frame; `body` is a view into the bytes it was read from."""

    kind: str
    kind_version: int
    body: memoryview


def check_kind(kind: str, version: int) -> None:
    """Raise InputError unless `kind` and `version` can name a kind of object."""
    if len(kind) > _MAX_KIND_CHARACTERS or not _KIND.fullmatch(kind):
        raise InputError(
            "wire kind refused",
            expected=f"at most {_MAX_KIND_CHARACTERS} characters a-z 0-9 _ - in parts joined by /",
            got=repr(kind),
        )
    if not 1 <= version <= MAX_VERSION:
        raise InputError(f"version of wire kind {kind} refused", expected=f"1 to {MAX_VERSION}", got=str(version))


def frame_overhead(kind: str) -> int:
    """How much longer a frame of this kind is than its body."""
    return _START.size + len(kind) + _LENGTHS.size + CHECKSUM_BYTES


@lru_cache(maxsize=256)
def _start_of(kind: str, kind_version: int) -> bytes:
    """What a header holds ahead of its lengths: the same for every object of a kind."""
    check_kind(kind, kind_version)
    name = kind.encode("ascii")
    return _START.pack(MAGIC, FORMAT_VERSION, len(name)) + name


def write_frame(kind: str, kind_version: int, body: Buffer) -> bytes:
    """`body` in its frame.

    Raises WireOversizeError above MAX_FRAME_BYTES, so that readers accept every written frame.
    """
    header = _start_of(kind, kind_version) + _LENGTHS.pack(kind_version, len(body))
    if len(header) + len(body) + CHECKSUM_BYTES > MAX_FRAME_BYTES:
        raise WireOversizeError(
            f"{kind} too large for one frame",
            expected=f"at most {MAX_FRAME_BYTES} bytes",
            got=f"a body of {len(body)} bytes",
            cure="send it in several messages",
        )
    return b"".join((header, body, checksum_of(header, body)))


def read_frame(data: Buffer, *, max_bytes: int = MAX_FRAME_BYTES, authenticated: bool = False) -> Frame:
    """The frame in `data`, checked from the first byte to the last; copies nothing.

    `authenticated`: `data` is what its sender wrote, byte for byte, as a seal over it has shown: then the checksum, by
    which anybody's change of them could not be told, is not computed again.

    Raises WireTruncatedError, WireVersionError, WireOversizeError or WireCorruptError.
    """
    view = _byte_view(data)
    kind_length = _read_start(view)
    lengths_at = _START.size + kind_length
    body_at = lengths_at + _LENGTHS.size
    if len(view) < body_at:
        raise _truncated("inside the header", f"at least {body_at + CHECKSUM_BYTES} bytes", len(view))
    kind = _read_kind(view[_START.size : lengths_at])
    kind_version, body_bytes = _LENGTHS.unpack_from(view, lengths_at)
    total = body_at + body_bytes + CHECKSUM_BYTES
    if total > max_bytes:
        raise WireOversizeError(
            "bytes declare more than the reader allows",
            expected=f"at most {max_bytes} bytes",
            got=f"a header that declares {total} bytes",
            cure="raise max_bytes if so much is meant; a damaged length field looks the same",
        )
    if len(view) < total:
        raise _truncated("inside the body or checksum", f"{total} bytes", len(view))
    if len(view) > total:
        raise WireCorruptError(
            "bytes follow after the end of the object", expected=f"{total} bytes", got=f"{len(view)} bytes"
        )
    body_end = body_at + body_bytes
    if not authenticated and checksum_of(view[:body_at], view[body_at:body_end]) != view[body_end:]:
        raise WireCorruptError("checksum does not hold: bytes were changed on the way", cure="fetch or send them again")
    if kind_version == 0:
        raise WireCorruptError(f"version of wire kind {kind} is 0", expected="1 or more")
    return Frame(kind, kind_version, view[body_at:body_end])


def _byte_view(data: Buffer) -> memoryview:
    try:
        return memoryview(data).cast("B")
    except TypeError:
        raise InputError(
            "not something to read wire bytes from", expected="contiguous bytes", got=type(data).__name__
        ) from None


def _read_start(view: memoryview) -> int:
    """Check magic and format version; return the length of the kind."""
    if view[: len(MAGIC)] != MAGIC[: len(view)]:
        raise WireCorruptError("not Hekat bytes: the magic is missing", expected=f"bytes that begin with {MAGIC!r}")
    if len(view) < _START.size:
        raise _truncated(
            "inside the header", f"at least {_START.size + _LENGTHS.size + CHECKSUM_BYTES} bytes", len(view)
        )
    _, version, kind_length = _START.unpack_from(view)
    if version != FORMAT_VERSION:
        raise WireVersionError(
            "format version not known to this release",
            expected=f"format version {FORMAT_VERSION}",
            got=f"format version {version}",
            cure="read it with the release that wrote it, or a newer one",
        )
    return int(kind_length)


def _read_kind(view: memoryview) -> str:
    text = bytes(view).decode("latin-1")
    if len(text) > _MAX_KIND_CHARACTERS or not _KIND.fullmatch(text):
        raise WireCorruptError("the header holds no kind of object", cure="fetch or send the bytes again")
    return text


def _truncated(where: str, expected: str, got_bytes: int) -> WireTruncatedError:
    return WireTruncatedError(
        f"bytes end {where}", expected=expected, got=f"{got_bytes} bytes", cure="fetch or send them again, whole"
    )


def checksum_of(header: Buffer, body: Buffer) -> bytes:
    """BLAKE2b-128 over header and body: catches accidental change, and is no signature."""
    state = hashlib.blake2b(header, digest_size=CHECKSUM_BYTES, person=_PERSON)
    state.update(body)
    return state.digest()
