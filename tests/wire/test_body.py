"""The body: strict, canonical, and never more memory than the bytes at hand justify."""

from __future__ import annotations

import struct
import tracemalloc
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import InputError, WireCorruptError, WireError, WireOversizeError
from hekat.wire.body import MAX_DEPTH, MAX_ITEM_COUNT, pack_body, unpack_body

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=300)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20), max_leaves=60
)


@given(VALUES)
def test_round_trip(value: Any) -> None:
    body = pack_body(value)
    assert unpack_body(memoryview(body)) == value
    assert pack_body(unpack_body(memoryview(body))) == body


@given(st.binary(max_size=200))
def test_any_bytes_are_read_canonically_or_refused(data: bytes) -> None:
    try:
        value = unpack_body(memoryview(data))
    except WireError:
        return
    assert pack_body(value) == data


@pytest.mark.parametrize(
    "body",
    [
        b"\xcc\x05",  # 5 in two bytes
        b"\xcd\x00\xff",
        b"\xd0\x05",
        b"\xd9\x01a",  # a string header longer than needed
        b"\xc5\x00\x01a",
        b"\xdc\x00\x00",
        b"\xde\x00\x00",
        b"\x82\xa1a\x01\xa1a\x01",  # the same key twice
        b"\x92" + bytes(pack_body(bytes(1 << 19))) + b"\xcc\x05",  # behind a long byte string
    ],
)
def test_other_forms_of_equal_value_are_refused(body: bytes) -> None:
    with pytest.raises(WireCorruptError, match="canonical"):
        unpack_body(memoryview(body))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",  # never used
        b"\xca\x00\x00\x00\x00",  # float 32
        b"\xd4\x01\x00",  # extension
        b"\xc7\x01\x01\x00",
        msgpack.packb(msgpack.Timestamp(1, 2)),
        b"\x01\x02",  # two items
        b"\x92\x01",
        b"\xc4\x05ab",
        b"\xcd\x01",
        b"\x81\x01\x02",  # a key that is no string
        b"\x81\x90\x02",
        b"\xa1\xff",  # no UTF-8
    ],
)
def test_malformed_bodies(body: bytes) -> None:
    with pytest.raises(WireCorruptError):
        unpack_body(memoryview(body))


def nested_headers(header: bytes, depth: int, rest: int) -> bytes:
    return header * depth + bytes(rest)


@pytest.mark.parametrize(
    "body",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        nested_headers(b"\xdd" + struct.pack(">I", 70_000), 1000, 70_000),  # 0.5 GiB in msgpack's own unpacker
        nested_headers(b"\xdd" + struct.pack(">I", 70_000), 10, 70_000),
        nested_headers(b"\x91", 100_000, 1),
        nested_headers(b"\x81\xa0", 100_000, 1),
        b"\xdd" + struct.pack(">I", 300_000) + b"\x90" * 300_000,
    ],
)
def test_declared_sizes_do_not_become_allocations(body: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises((WireCorruptError, WireOversizeError)):
            unpack_body(memoryview(body))
        assert tracemalloc.get_traced_memory()[1] < 50_000
    finally:
        tracemalloc.stop()


def test_depth_limit_is_exact() -> None:
    deepest = b"\x91" * (MAX_DEPTH - 2) + b"\x90"
    assert pack_body(unpack_body(memoryview(deepest))) == deepest
    with pytest.raises(WireOversizeError, match="nested too deeply"):
        unpack_body(memoryview(b"\x91" + deepest))


def test_depth_limit_holds_for_writers_too() -> None:
    value: Any = []
    for _ in range(MAX_DEPTH - 2):
        value = [value]
    assert unpack_body(memoryview(pack_body(value))) == value
    with pytest.raises(InputError, match="nested too deeply"):
        pack_body([value])


def test_item_limit_is_exact_and_holds_for_writers_too() -> None:
    largest = [None] * (MAX_ITEM_COUNT - 1)
    assert unpack_body(memoryview(pack_body(largest))) == largest
    with pytest.raises(InputError, match="too many items"):
        pack_body([*largest, None])
    # Long byte strings hide no items.
    halves = [b"x" * MAX_ITEM_COUNT, *largest[1:]]
    assert unpack_body(memoryview(pack_body(halves))) == halves
    with pytest.raises(InputError, match="too many items"):
        pack_body([*halves, None])


def test_what_cannot_be_packed_is_refused_without_its_value() -> None:
    for value in (2**64, -(2**63) - 1, object(), {1, 2}, "\ud800 secret"):
        with pytest.raises(InputError, match="cannot be packed") as caught:
            pack_body(value)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
