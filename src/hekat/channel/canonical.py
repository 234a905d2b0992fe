"""One unambiguous byte encoding for everything that is signed, hashed or bound: counted, length-prefixed fields."""

from __future__ import annotations

import struct

from hekat.errors import SealError

_COUNT = struct.Struct(">H")
_LENGTH = struct.Struct(">I")
_NUMBER = struct.Struct(">Q")

NUMBER_BYTES = _NUMBER.size


def encode_fields(*fields: bytes) -> bytes:
    """The fields behind their count (2 bytes) and each behind its length (4 bytes), big-endian.

    Two different lists of fields never encode alike. At most 65535 fields of at most 2^32 - 1 bytes.
    """
    pack = _LENGTH.pack
    return _COUNT.pack(len(fields)) + b"".join([pack(len(field)) + field for field in fields])


def decode_fields(data: bytes, count: int, what: str) -> list[bytes]:
    """The `count` fields that `data` encodes, all of `data` used.

    Raises:
        SealError: `data`, named `what` in the message, is not the encoding of exactly `count` fields.
    """
    size, end, unpack_from = len(data), _COUNT.size, _LENGTH.unpack_from
    if size < end or _COUNT.unpack_from(data)[0] != count:
        raise _malformed(data, count, what)
    fields: list[bytes] = []
    for _ in range(count):
        start = end + _LENGTH.size
        if start > size:
            raise _malformed(data, count, what)
        end = start + unpack_from(data, end)[0]
        if end > size:
            raise _malformed(data, count, what)
        fields.append(data[start:end])
    if end != size:
        raise _malformed(data, count, what)
    return fields


def _malformed(data: bytes, count: int, what: str) -> SealError:
    return SealError(f"malformed {what}", expected=f"{count} length-prefixed fields", got=f"{len(data)} other bytes")


def encode_number(value: int) -> bytes:
    """`value` in [0, 2^64) as 8 big-endian bytes."""
    return _NUMBER.pack(value)


def decode_number(data: bytes, what: str) -> int:
    """The number in exactly 8 bytes. Raises SealError for another length."""
    if len(data) != NUMBER_BYTES:
        raise SealError(f"malformed {what}", expected=f"a number of {NUMBER_BYTES} bytes", got=f"{len(data)} bytes")
    (value,) = _NUMBER.unpack(data)
    return int(value)


def decode_text(data: bytes, what: str) -> str:
    """The text in UTF-8 bytes. Raises SealError where they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SealError(f"malformed {what}", expected="UTF-8 text", got=f"{len(data)} other bytes") from None
