"""The body of a frame: MessagePack in one strict, canonical form.

A body is walked before it is unpacked, because the unpacker allocates what a container's header declares: nested
headers of a few bytes could ask for gigabytes. After the walk, memory is bounded by the bytes at hand and by
MAX_ITEM_COUNT; bulk data travels as byte strings, never item by item.
"""

from __future__ import annotations

from typing import Any

import msgpack

from hekat.errors import InputError, WireCorruptError, WireOversizeError

MAX_ITEM_COUNT = 1 << 18
MAX_DEPTH = 16

# First byte -> (width of the length field, items per declared unit): 0 for byte strings, 1 for arrays, 2 for maps.
_SIZED = {
    0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0),
    0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0),
    0xDC: (2, 1), 0xDD: (4, 1),
    0xDE: (2, 2), 0xDF: (4, 2),
}  # fmt: skip
# First byte -> bytes that follow it: nil, booleans, float 64, integers of 8 to 64 bits.
_SCALARS = {
    0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCB: 8,
    0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8,
    0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8,
}  # fmt: skip
_TOO_FEW_BYTES = "declares more bytes than it has"
_BULKY = frozenset({bytes, dict, list})
# For what is around the byte strings of a body.
_ROOM_BYTES = 1024
_PIECE_BYTES = 1 << 18
# Of a byte string or text whose length field has one byte.
_SHORT = -1


def _content_bytes(first: int) -> int | None:
    """Bytes that follow the first byte of an item whose size stands in it, or `_SHORT`; None for all other items."""
    if first <= 0x7F or first >= 0xE0:
        return 0
    if _SIZED.get(first) == (1, 0):
        return _SHORT
    return first & 0x1F if 0xA0 <= first <= 0xBF else _SCALARS.get(first)


_CONTENT_BYTES = tuple(_content_bytes(first) for first in range(256))


def pack_body(value: Any) -> memoryview:
    """None, booleans, integers of 64 bits, floats, strings, bytes, lists and string-keyed dicts as MessagePack.

    A view of the packer's own memory: a long body is copied once, into its frame.

    Raises InputError where there are more items than `unpack_body` reads.
    """
    try:
        bulk = _bulk_bytes(value)
        body = _pack(value, bulk)
        # An item has a byte at least outside of byte strings: only where these are many have items to be counted.
        if len(body) - bulk > MAX_ITEM_COUNT:
            _walk(body)
    except (ValueError, OverflowError, TypeError):
        # Not chained: the packer's own message may quote the value.
        raise InputError("a value cannot be packed", expected="items within MessagePack's sizes") from None
    except WireOversizeError as error:
        raise InputError(
            error.what, expected=error.expected, got=error.got, cure="send numbers as a NumPy array, blobs as bytes"
        ) from None
    return body


def _pack(value: Any, byte_count: int) -> memoryview:
    """`value` packed; a packer that has room for so many bytes need not move a large body as it grows."""
    packer = msgpack.Packer(use_bin_type=True, strict_types=True, autoreset=False, buf_size=byte_count + _ROOM_BYTES)
    packer.pack(value)
    packed: memoryview = packer.getbuffer()
    return packed


def _is_equal(one: memoryview, other: memoryview) -> bool:
    """`==` of views goes item by item; pieces are compared at once, and copied without taking fresh memory."""
    return len(one) == len(other) and all(
        bytes(one[at : at + _PIECE_BYTES]).startswith(other[at : at + _PIECE_BYTES])
        for at in range(0, len(one), _PIECE_BYTES)
    )


def _bulk_bytes(value: Any, levels: int = MAX_DEPTH - 1) -> int:
    """Bytes in all byte strings of `value`: most of a long body. Raises WireOversizeError below so many levels."""
    kind = type(value)
    if kind is bytes:
        return len(value)
    if kind not in _BULKY:
        return 0
    if levels == 0:
        raise _too_deep()
    items = value.values() if kind is dict else value
    return sum([_bulk_bytes(item, levels - 1) for item in items if type(item) in _BULKY])


def packed_bytes_length(byte_count: int) -> int:
    """How long a byte string of so many bytes is once packed: with its header of 2, 3 or 5 bytes."""
    return byte_count + (2 if byte_count < 1 << 8 else 3 if byte_count < 1 << 16 else 5)


def unpack_body(body: memoryview) -> Any:
    """The value in bytes of `pack_body`; refuses every other encoding of it.

    Raises WireCorruptError or WireOversizeError.
    """
    _walk(body)
    try:
        value = msgpack.unpackb(body, raw=False, use_list=True, strict_map_key=True)
        canonical = _pack(value, len(body))
    except (ValueError, TypeError, OverflowError):
        # Not chained: the unpacker's own message may quote content.
        raise WireCorruptError("the body is not well formed", expected="strict MessagePack") from None
    if not _is_equal(canonical, body):
        raise WireCorruptError("the body is not in canonical form", expected="shortest forms and no repeated names")
    return value


def _walk(body: bytes | memoryview) -> None:
    """Check structure and size of a whole body without unpacking it."""
    size, at, item_count = len(body), 0, 0
    left = 1  # items still to come in the container that is being read
    outer: list[int] = []  # and in those around it
    while True:
        if left == 0:
            if not outer:
                break
            left = outer.pop()
            continue
        if at >= size:
            raise _malformed("ends inside an item")
        left -= 1
        item_count += 1
        content, children = _CONTENT_BYTES[body[at]], -1
        if content == _SHORT:
            # Most items of a long body: names and digests, whose length is the next byte.
            at = at + 2 + body[at + 1] if at + 1 < size else size + 1
        elif content is not None:
            at += 1 + content
        else:
            at, children = _sized_step(body, at)
        if at > size:
            raise _malformed(_TOO_FEW_BYTES)
        if item_count + children > MAX_ITEM_COUNT:
            raise WireOversizeError("a body of too many items", expected=f"at most {MAX_ITEM_COUNT} items in all")
        if children > size - at:
            raise _malformed("declares more items than it has bytes")
        if children >= 0:
            outer.append(left)
            left = children
            if len(outer) >= MAX_DEPTH:
                raise _too_deep()
    if at != size:
        raise _malformed("goes on after its end")


def _sized_step(body: bytes | memoryview, at: int) -> tuple[int, int]:
    """Position after the item head (and content) at `at`, and how many items it contains; -1 for no container."""
    first = body[at]
    at += 1
    if 0x80 <= first <= 0x9F:
        return at, (first & 0x0F) * (2 if first <= 0x8F else 1)
    if first not in _SIZED:
        raise _malformed("holds a type that Hekat does not use")
    width, items_each = _SIZED[first]
    content_at = _skip(body, at, width)
    declared = int.from_bytes(body[at:content_at], "big")
    if items_each == 0:
        return _skip(body, content_at, declared), -1
    return content_at, declared * items_each


def _skip(body: bytes | memoryview, at: int, count: int) -> int:
    if count > len(body) - at:
        raise _malformed(_TOO_FEW_BYTES)
    return at + count


def _too_deep() -> WireOversizeError:
    return WireOversizeError("a body nested too deeply", expected=f"at most {MAX_DEPTH - 1} levels")


def _malformed(what: str) -> WireCorruptError:
    return WireCorruptError(f"the body {what}", expected="strict MessagePack")
