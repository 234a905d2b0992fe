"""One sealed payload as bytes: a signed header and chunks encrypted to one receiver. Knows no network.

    frame  = MAGIC (8) | header length (4, big-endian) | header | signature (64) | chunk | chunk | ...
    header = the canonical fields of `SealedHeader`
    chunk  = AES-256-GCM(content), additional data = canonical(label, header, chunk index), 16 bytes longer

The key of the chunks is derived from the pair's key and the header's fresh salt. The signature is Ed25519 over SHA-256
of header and chunks; the header is in the clear and signed, its every field is bound into each chunk as well.
"""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple

from hekat.channel.canonical import decode_fields, decode_number, decode_text, encode_fields, encode_number
from hekat.channel.pair_key import SALT_BYTES, TAG_BYTES, PairKey
from hekat.channel.party_key import SIGNATURE_BYTES, PartyKey, PartyPublicKey
from hekat.errors import SealError

MAGIC = b"HEKATSM\x02"
CHUNK_BYTES = 8 << 20
MAX_CHUNK_BYTES = 64 << 20
MAX_PAYLOAD_BYTES = 1 << 40
SESSION_ID_BYTES = 32

_HEADER_LENGTH = struct.Struct(">I")
_MAX_HEADER_BYTES = 4096
_FIELD_COUNT = 12
_PURPOSE = "hekat/sealed-message/2"
_CHUNK_LABEL = b"hekat/sealed-chunk/2"


class SealedHeader(NamedTuple):
    """What a sealed payload is bound to. `sequence` counts from 0 for each ordered pair of parties.

    `salt` is SALT_BYTES of fresh randomness, from which the message's own key is derived.
    """

    session_id: bytes
    run_id: str
    protocol: str
    step: str
    sequence: int
    sender: str
    receiver: str
    signer: str
    salt: bytes
    payload_bytes: int
    chunk_bytes: int

    @property
    def chunk_count(self) -> int:
        """At least one, so that an empty payload is authenticated like any other."""
        return max(1, -(-self.payload_bytes // self.chunk_bytes))

    @property
    def body_bytes(self) -> int:
        """Length of all chunks together, sealed."""
        return self.payload_bytes + self.chunk_count * TAG_BYTES

    def encode(self) -> bytes:
        """The canonical bytes of the header."""
        return encode_fields(
            self.session_id,
            self.run_id.encode(),
            self.protocol.encode(),
            self.step.encode(),
            encode_number(self.sequence),
            self.sender.encode(),
            self.receiver.encode(),
            self.signer.encode(),
            self.salt,
            encode_number(self.payload_bytes),
            encode_number(self.chunk_bytes),
            encode_number(self.chunk_count),
        )


class SealedFrame(NamedTuple):
    """A parsed frame: its lengths hold, but nothing in it is to be believed before `verify`."""

    header: SealedHeader
    header_data: bytes
    signature: bytes
    body: memoryview

    def verify(self, signer: PartyPublicKey) -> bool:
        """Whether `signer` signed this header with these chunks."""
        return signer.verify_once(self.signature, _PURPOSE, _digest(self.header_data, [self.body]))

    def open(self, pair_key: PairKey) -> bytes:
        """The payload. Raises SealError where a chunk does not open with the pair's key under this header."""
        key = pair_key.message_key(self.header.salt)
        chunks: list[bytes] = []
        offset = 0
        for index in range(self.header.chunk_count):
            size = min(self.header.chunk_bytes, self.header.payload_bytes - index * self.header.chunk_bytes)
            end = offset + size + TAG_BYTES
            chunks.append(key.open(self.body[offset:end], index, _chunk_info(self.header_data, index)))
            offset = end
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def seal_payload(payload: bytes, header: SealedHeader, signer: PartyKey, pair_key: PairKey) -> bytes:
    """The frame of `payload`; `header.payload_bytes` is its length and `header.signer` the signer's fingerprint.

    `header.salt` must be fresh: it has never been used with this key.
    """
    header_data = header.encode()
    content = memoryview(payload)
    key = pair_key.message_key(header.salt)
    chunks = [
        key.seal(
            content[index * header.chunk_bytes : (index + 1) * header.chunk_bytes],
            index,
            _chunk_info(header_data, index),
        )
        for index in range(header.chunk_count)
    ]
    signature = signer.sign(_PURPOSE, _digest(header_data, chunks))
    return b"".join([MAGIC, _HEADER_LENGTH.pack(len(header_data)), header_data, signature, *chunks])


def parse_frame(data: bytes) -> SealedFrame:
    """The frame in `data`, its lengths checked against each other before anything is allocated.

    Raises:
        SealError: not a frame, another version's, malformed, truncated, or longer than its header says.
    """
    start = len(MAGIC) + _HEADER_LENGTH.size
    if data[: len(MAGIC)] != MAGIC:
        raise _magic_error(data)
    if len(data) < start:
        raise _truncated(f"at least {start} bytes", len(data))
    (header_bytes,) = _HEADER_LENGTH.unpack_from(data, len(MAGIC))
    if header_bytes > _MAX_HEADER_BYTES:
        raise SealError("malformed sealed header", expected=f"at most {_MAX_HEADER_BYTES} bytes", got=f"{header_bytes}")
    body_start = start + header_bytes + SIGNATURE_BYTES
    if len(data) < body_start:
        raise _truncated(f"at least {body_start} bytes", len(data))
    header_data = data[start : start + header_bytes]
    header = decode_header(header_data)
    expected = body_start + header.body_bytes
    if len(data) < expected:
        raise _truncated(f"{expected} bytes ({header.chunk_count} chunks)", len(data))
    if len(data) > expected:
        raise SealError(
            "a sealed message was altered: it goes on after its end", expected=f"{expected} bytes", got=f"{len(data)}"
        )
    signature = data[start + header_bytes : body_start]
    return SealedFrame(header, header_data, signature, memoryview(data)[body_start:])


def decode_header(data: bytes) -> SealedHeader:
    """The header that `SealedHeader.encode` made. Raises SealError for any other bytes."""
    what = "sealed header"
    fields = decode_fields(data, _FIELD_COUNT, what)
    session_id, run_id, protocol, step, sequence, sender, receiver, signer, salt, *sizes = fields
    payload_bytes, chunk_bytes, count = sizes
    header = SealedHeader(
        session_id=session_id,
        run_id=decode_text(run_id, what),
        protocol=decode_text(protocol, what),
        step=decode_text(step, what),
        sequence=decode_number(sequence, what),
        sender=decode_text(sender, what),
        receiver=decode_text(receiver, what),
        signer=decode_text(signer, what),
        salt=salt,
        payload_bytes=decode_number(payload_bytes, what),
        chunk_bytes=decode_number(chunk_bytes, what),
    )
    if len(session_id) != SESSION_ID_BYTES:
        raise SealError(
            f"malformed {what}", expected=f"a session id of {SESSION_ID_BYTES} bytes", got=f"{len(session_id)}"
        )
    if len(header.salt) != SALT_BYTES:
        raise SealError(f"malformed {what}", expected=f"a salt of {SALT_BYTES} bytes", got=f"{len(header.salt)} bytes")
    if not 1 <= header.chunk_bytes <= MAX_CHUNK_BYTES or header.payload_bytes > MAX_PAYLOAD_BYTES:
        raise SealError(
            f"malformed {what}",
            expected=f"chunks of 1 to {MAX_CHUNK_BYTES} bytes, a payload of at most {MAX_PAYLOAD_BYTES}",
            got=f"chunks of {header.chunk_bytes}, a payload of {header.payload_bytes}",
        )
    if decode_number(count, what) != header.chunk_count:
        raise SealError(
            "a sealed message was truncated: its chunks do not make up its payload",
            expected=f"{header.chunk_count} chunks of {header.chunk_bytes} bytes for {header.payload_bytes} bytes",
            got=f"{decode_number(count, what)} chunks",
        )
    return header


def _chunk_info(header_data: bytes, index: int) -> bytes:
    # The header holds session, run, protocol, step, sequence, sender, receiver and chunk count.
    return encode_fields(_CHUNK_LABEL, header_data, encode_number(index))


def _digest(header_data: bytes, chunks: list[bytes] | list[memoryview]) -> bytes:
    digest = hashlib.sha256(encode_fields(header_data))
    for chunk in chunks:
        digest.update(chunk)
    return digest.digest()


def _magic_error(data: bytes) -> SealError:
    if MAGIC.startswith(data):
        return _truncated(f"at least {len(MAGIC)} bytes", len(data))
    if data[: len(MAGIC) - 1] == MAGIC[:-1]:
        return SealError(
            "sealed by another version",
            expected=f"version {MAGIC[-1]}",
            got=f"{data[len(MAGIC) - 1]}",
            cure="use one release",
        )
    return SealError(
        "not a sealed message", expected="a frame that a SealedChannel made", got=f"{len(data)} other bytes"
    )


def _truncated(expected: str, got: int) -> SealError:
    return SealError(
        "a sealed message was truncated", expected=expected, got=f"{got} bytes", cure="send it again whole"
    )
