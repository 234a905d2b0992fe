"""The frame: round trip, and one clear error for each kind of damage."""

from __future__ import annotations

import struct
import tracemalloc

import pytest

from hekat.errors import (
    InputError,
    WireCorruptError,
    WireError,
    WireOversizeError,
    WireTruncatedError,
    WireVersionError,
)
from hekat.wire.frame import CHECKSUM_BYTES, MAX_FRAME_BYTES, checksum_of, read_frame, write_frame

KIND = "test/frame"
BODY = b"\x93\x01\x02\x03"
FRAME = write_frame(KIND, 7, BODY)
LENGTH_AT = 4 + 2 + 1 + len(KIND) + 2


def resum(data: bytes) -> bytes:
    """The same frame with its checksum made to hold."""
    return data[:-CHECKSUM_BYTES] + checksum_of(data[:-CHECKSUM_BYTES], b"")


def with_length(length: int) -> bytes:
    return FRAME[:LENGTH_AT] + struct.pack("<Q", length) + FRAME[LENGTH_AT + 8 :]


def test_layout_is_the_documented_one() -> None:
    assert FRAME[:4] == b"HKAT"
    assert FRAME[4:7] == struct.pack("<HB", 1, len(KIND))
    assert FRAME[7:LENGTH_AT] == KIND.encode() + struct.pack("<H", 7)
    assert FRAME[LENGTH_AT : LENGTH_AT + 8] == struct.pack("<Q", len(BODY))
    assert FRAME[LENGTH_AT + 8 : -CHECKSUM_BYTES] == BODY


@pytest.mark.parametrize("as_type", [bytes, bytearray, memoryview])
def test_round_trip(as_type: type) -> None:
    frame = read_frame(as_type(FRAME))
    assert (frame.kind, frame.kind_version, bytes(frame.body)) == (KIND, 7, BODY)


def test_empty_body() -> None:
    assert bytes(read_frame(write_frame(KIND, 1, b"")).body) == b""


@pytest.mark.parametrize("length", range(len(FRAME)))
def test_every_truncation_is_called_one(length: int) -> None:
    with pytest.raises(WireTruncatedError, match="bytes end"):
        read_frame(FRAME[:length])


@pytest.mark.parametrize("position", range(len(FRAME)))
def test_every_flipped_byte_is_refused(position: int) -> None:
    for mask in (0x01, 0x80, 0xFF):
        damaged = bytearray(FRAME)
        damaged[position] ^= mask
        with pytest.raises(WireError) as caught:
            read_frame(damaged)
        if position >= LENGTH_AT + 8:
            assert isinstance(caught.value, WireCorruptError)
            assert "checksum" in str(caught.value)


@pytest.mark.parametrize("position", range(len(FRAME)))
def test_out_of_a_seal_only_the_checksum_is_not_looked_at(position: int) -> None:
    damaged = bytearray(FRAME)
    damaged[position] ^= 0xFF
    if LENGTH_AT - 2 <= position < LENGTH_AT or position >= LENGTH_AT + 8:
        frame = read_frame(damaged, authenticated=True)
        changed = (frame.kind_version != 7) + (bytes(frame.body) != BODY)
        assert changed == (position < len(FRAME) - CHECKSUM_BYTES)
    else:
        with pytest.raises(WireError):
            read_frame(damaged, authenticated=True)
    with pytest.raises(WireError):
        read_frame(damaged)


def test_flipped_kind_is_no_other_kind() -> None:
    damaged = bytearray(FRAME)
    damaged[7] ^= 0x01
    with pytest.raises(WireCorruptError, match="checksum"):
        read_frame(damaged)


def test_trailing_bytes() -> None:
    with pytest.raises(WireCorruptError, match="follow after the end"):
        read_frame(FRAME + b"\x00")


def test_two_frames_are_not_one() -> None:
    with pytest.raises(WireCorruptError, match="follow after the end"):
        read_frame(FRAME + FRAME)


@pytest.mark.parametrize("version", [0, 2, 999, 65535])
def test_other_format_version(version: int) -> None:
    with pytest.raises(WireVersionError, match=f"got format version {version}"):
        read_frame(resum(FRAME[:4] + struct.pack("<H", version) + FRAME[6:]))


@pytest.mark.parametrize("length", [MAX_FRAME_BYTES, 2**32, 2**60, 2**64 - 1])
def test_oversize_is_answered_before_anything_is_allocated(length: int) -> None:
    data = with_length(length)
    tracemalloc.start()
    try:
        with pytest.raises(WireOversizeError, match="declare more than the reader allows"):
            read_frame(data)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_the_reader_may_allow_less() -> None:
    read_frame(FRAME, max_bytes=len(FRAME))
    with pytest.raises(WireOversizeError, match=f"at most {len(FRAME) - 1} bytes"):
        read_frame(FRAME, max_bytes=len(FRAME) - 1)


def test_declared_length_beyond_the_data_is_a_truncation() -> None:
    with pytest.raises(WireTruncatedError):
        read_frame(with_length(len(BODY) + 1))


def test_declared_length_short_of_the_data_leaves_a_rest() -> None:
    with pytest.raises(WireCorruptError, match="follow after the end"):
        read_frame(with_length(len(BODY) - 1))


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"\x00" * 100, b"HKAX" + FRAME[4:], b"x"])
def test_foreign_bytes(data: bytes) -> None:
    with pytest.raises(WireCorruptError, match="not Hekat bytes"):
        read_frame(data)


def test_kind_version_zero() -> None:
    data = bytearray(FRAME)
    data[LENGTH_AT - 2 : LENGTH_AT] = b"\0\0"
    with pytest.raises(WireCorruptError, match="version of wire kind"):
        read_frame(resum(bytes(data)))


@pytest.mark.parametrize("kind", ["", "Upper", "a b", "a//b", "/a", "a/", "é", "a" * 65, "a\n"])
def test_refused_kinds(kind: str) -> None:
    with pytest.raises(InputError, match="wire kind refused"):
        write_frame(kind, 1, b"")


@pytest.mark.parametrize("version", [0, -1, 65536])
def test_refused_kind_versions(version: int) -> None:
    with pytest.raises(InputError, match="version of wire kind"):
        write_frame(KIND, version, b"")


@pytest.mark.parametrize("data", ["text", 7, None, memoryview(bytes(8))[::2]])
def test_not_bytes_at_all(data: object) -> None:
    with pytest.raises(InputError, match="not something to read wire bytes from"):
        read_frame(data)  # type: ignore[arg-type]
