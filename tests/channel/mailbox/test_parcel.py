"""Bytes of parcels, receipts and words of an end: whole ones come back as they were, all others are refused."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.channel.dropout_notice import DropoutNotice
from hekat.channel.mailbox.departures import read_notice, write_notice
from hekat.channel.mailbox.parcel import (
    DATA,
    MAX_HEADER_BYTES,
    MAX_ITEMS,
    Item,
    OtherFormatError,
    Parcel,
    Receipt,
    decode_parcel,
    decode_receipt,
)
from hekat.errors import WireError

WHOLE = Parcel("run-1", "a", "b", bytes(16), [Item(0, DATA, "step", b"12345"), Item(1, DATA, "step", b"")])


def _parcel(*fields: object, payloads: bytes = b"") -> bytes:
    header = msgpack.packb(list(fields))
    return len(header).to_bytes(4, "little") + header + payloads


def _items(*items: object, payloads: bytes = b"") -> bytes:
    return _parcel(1, "run-1", "a", "b", bytes(16), list(items), payloads=payloads)


def test_what_is_written_is_read() -> None:
    assert decode_parcel(WHOLE.encode()) == WHOLE
    receipt = Receipt(bytes(16), 7, True, "no")
    assert decode_receipt(receipt.encode()) == receipt
    notice = DropoutNotice("a", "b", "late", bytes(64), "step", "round 1", ("c",))
    assert read_notice(write_notice(notice)) == notice


@pytest.mark.parametrize(
    "data",
    [
        b"",
        WHOLE.encode()[:-1],
        WHOLE.encode() + b"\0",
        (1 << 31).to_bytes(4, "little") + b"x",
        (MAX_HEADER_BYTES + 1).to_bytes(4, "little") + bytes(MAX_HEADER_BYTES + 1),
        _parcel(),
        _parcel(1, "run-1", "a", "b", bytes(16)),
        _parcel(True, "run-1", "a", "b", bytes(16), []),
        _parcel(1, "run-1", "a", "b", bytes(15), []),
        _parcel(1, "run-1", ["a"], "b", bytes(16), []),
        _parcel(1, "run-1", "a" * 257, "b", bytes(16), []),
        _parcel(1, "run-1", "é" * 129, "b", bytes(16), []),
        _items([0, ["data"], "step", 0]),
        _items([0, {"data": 1}, "step", 0]),
        _items([0, "other", "step", 0]),
        _items([-1, DATA, "step", 0]),
        _items([1 << 62, DATA, "step", 0]),
        _items([0, DATA, "line\nbreak", 0]),
        _items([0, DATA, "step", 1 << 61]),
        _items([0, DATA, "step", 2], payloads=b"1"),
        _items(*([0, DATA, "s", 0] for _ in range(MAX_ITEMS + 1))),
    ],
)
def test_the_attack_other_bytes_are_refused_by_name_and_take_no_memory(data: bytes) -> None:
    with pytest.raises(WireError, match="malformed parcel"):
        decode_parcel(data)


@given(st.binary(max_size=80))
def test_any_bytes_are_refused_by_name(data: bytes) -> None:
    for read in (decode_parcel, decode_receipt, read_notice):
        for given_bytes in (data, len(data).to_bytes(4, "little") + data):
            try:
                read(given_bytes)
            except WireError:
                continue


def test_a_parcel_of_another_release_is_told_from_a_broken_one() -> None:
    with pytest.raises(OtherFormatError, match=r"another release.*format 2"):
        decode_parcel(_parcel(2, "fields", "of", "that", "one"))


@pytest.mark.parametrize("place", ["reason", "step", "saved", "lost"])
def test_the_attack_words_of_an_end_write_nothing_to_a_terminal(place: str) -> None:
    words = {"reason": "late", "step": "step", "saved": "round 1"} | {place: "\x1b[2J"}
    lost = (words.pop("lost"),) if place == "lost" else ()
    with pytest.raises(WireError, match="malformed word"):
        read_notice(write_notice(DropoutNotice("a", "b", signature=bytes(64), lost=lost, **words)))


@pytest.mark.parametrize("place", ["step", "saved"])
def test_the_attack_long_words_of_an_end_are_refused(place: str) -> None:
    with pytest.raises(WireError, match="malformed word"):
        read_notice(write_notice(DropoutNotice("a", "b", "late", bytes(64), **{place: "x" * 1025})))
