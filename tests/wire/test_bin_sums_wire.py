"""Sums by bins on the wire: what is written is read again, and nothing else is."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest

from hekat.engine.select import get_engine
from hekat.errors import KeyRefusedError, WireCorruptError, WireKeyError
from hekat.scheme.bin_sums import (
    BINS,
    Answers,
    BinSums,
    EncryptedRows,
    PrivateKey,
    PublicKey,
    SumLayout,
    conceal,
    encrypt_rows,
    generate_keys,
    open_answers,
)
from hekat.wire import from_bytes, to_bytes
from hekat.wire.bin_sums import MAX_BINS, read_answers, read_rows, write_answers, write_rows
from hekat.wire.bin_sums import _public_key as public_key_of_items
from hekat.wire.bin_sums import _public_key_items as items_of_public_key
from hekat.wire.kinds import ReadingContext

ROWS = 700
# One range for each width of an answer.
LAYOUTS = [SumLayout(BINS, 8, ROWS, ((-high, high), (0, high))) for high in (8, 1 << 15, 1 << 20)]
BIN_COUNTS = np.array([11, 0, 8])
COUNT_AT = 16
NUMBERS_AT = COUNT_AT + 4 + 32


@pytest.fixture(scope="module")
def pair():
    return generate_keys(2)


@pytest.fixture(scope="module")
def block(pair):
    return encrypt_rows(pair.private, np.arange(2 * ROWS).reshape(ROWS, 2) % 8, LAYOUTS[0])


def answers_of(pair, layout: SumLayout) -> Answers:
    """Of encrypted zeros: nothing is summed."""
    return conceal(sums_of_zeros(pair, layout), layout)


def sums_of_zeros(pair, layout: SumLayout) -> BinSums:
    c1, c0 = np.zeros((3, 2, 2, BINS.degree), np.uint64), np.zeros((3, 2, 2, 2, layout.window), np.uint64)
    return BinSums(pair.public, 4, BIN_COUNTS, c1, c0)


def test_a_public_key_comes_back(pair) -> None:
    data = to_bytes(pair.public)
    again = from_bytes(data, PublicKey)
    assert again == pair.public
    assert np.array_equal(again.a, pair.public.a)
    assert len(data) < 2 * BINS.polynomial_bytes + 300


def test_rows_come_back_and_take_the_bytes_that_are_promised(pair, block) -> None:
    data = write_rows(block)
    assert len(data) == LAYOUTS[0].block_bytes(ROWS) + COUNT_AT + 4
    again = read_rows(data, pair.public, LAYOUTS[0])
    assert (again.row_count, again.seed) == (ROWS, block.seed)
    assert np.array_equal(again.c0, block.c0)


@pytest.mark.parametrize(("layout", "width"), list(zip(LAYOUTS, (4, 5, 6), strict=True)))
def test_answers_come_back_take_the_bytes_that_are_promised_and_open(pair, layout, width) -> None:
    answers = answers_of(pair, layout)
    data = write_answers(answers)
    assert layout.sent_bytes == width
    assert len(data) == layout.answer_bytes(BIN_COUNTS) + COUNT_AT
    again = read_answers(data, pair.public, layout, 4, BIN_COUNTS)
    assert again.first_segment == 4
    assert np.array_equal(again.c1, answers.c1)
    assert np.array_equal(again.c0, answers.c0)
    assert not open_answers(pair.private, again, np.array([9, 9, 9])).any()


def test_written_bytes_are_those_of_version_1() -> None:
    """Of numbers that everybody can make again: expanded seeds stand for b, c0 and answers."""
    elements = get_engine("reference").expand_uniform(BINS.ring, bytes(32), 0, 2)
    key = PublicKey(BINS, b"\1" * 32, elements)
    rows = EncryptedRows(key, LAYOUTS[0], 3, b"\2" * 32, elements[np.newaxis])
    written = [to_bytes(key), write_rows(rows)]
    for layout in LAYOUTS:
        mask = np.uint64((1 << layout.sent_bits) - 1)
        c1, c0 = elements[:, 0] & mask, elements[0, :, :9].T & mask
        written.append(write_answers(Answers(key, layout, 0, np.array([9]), c1, c0)))
    assert [hashlib.sha256(data).hexdigest()[:32] for data in written] == EXPECTED


EXPECTED = [
    "5166a0ad0050fd6405f7340e4e5ff631",
    "c9e0a8ebdcef3dbeae8e324738bae263",
    "2973e2b0719aa903ecdd16aa8089e01a",
    "7dd51ad0dc526038080371979708c277",
    "66640ed6f83708c678e5a50cac104f41",
]


def test_private_keys_and_sums_that_are_not_concealed_are_not_written(pair) -> None:
    with pytest.raises(KeyRefusedError, match="not sent"):
        to_bytes(pair.private)
    with pytest.raises(KeyRefusedError, match="not sent"):
        from_bytes(to_bytes(pair.public), PrivateKey)
    with pytest.raises(KeyRefusedError, match="not sent"):
        to_bytes(sums_of_zeros(pair, LAYOUTS[0]))


def test_another_keys_rows_and_answers_are_refused(pair, block) -> None:
    other = generate_keys(2).public
    with pytest.raises(WireKeyError, match="another key"):
        read_rows(write_rows(block), other, LAYOUTS[0])
    with pytest.raises(WireKeyError, match="another key"):
        read_answers(write_answers(answers_of(pair, LAYOUTS[0])), other, LAYOUTS[0], 0, BIN_COUNTS)


def with_count(data: bytes, count: int) -> bytes:
    return data[:COUNT_AT] + struct.pack("<I", count) + data[COUNT_AT + 4 :]


def test_other_sizes_are_refused_before_anything_of_that_size_is_made(pair, block) -> None:
    whole, layout = write_rows(block), LAYOUTS[0]
    for data in (
        b"",
        whole[:10],
        whole[:40],
        whole[:-1],
        whole + b"\0",
        *(with_count(whole, n) for n in (0, 2**32 - 1)),
    ):
        with pytest.raises(WireCorruptError):
            read_rows(data, pair.public, layout)
    # As many groups, and more rows than a block holds.
    with pytest.raises(WireCorruptError, match="wrong size"):
        read_rows(with_count(whole, layout.rows_at_once + 1), pair.public, layout)
    with pytest.raises(WireCorruptError, match="wrong size"):
        read_rows(whole, pair.public, SumLayout(BINS, 16, ROWS, LAYOUTS[0].ranges))
    sent = write_answers(answers_of(pair, layout))
    for data in (b"", sent[:10], sent[:-1], sent + b"\0"):
        with pytest.raises(WireCorruptError):
            read_answers(data, pair.public, layout, 0, BIN_COUNTS)
    for counts in (
        np.array([12, 0, 8]),
        np.array([11, 0]),
        np.array([MAX_BINS] * 3),
        np.array([2**62, 2**62, 2**62, 2**62]),
        np.array([2**64 - 1], np.uint64),
        np.array([-1, 12, 8]),
        np.array([[11, 0, 8]]),
        np.array([11.0, 0.0, 8.0]),
    ):
        with pytest.raises(WireCorruptError):
            read_answers(sent, pair.public, layout, 0, counts)


def test_rows_of_a_block_that_is_too_large_are_refused(pair) -> None:
    layout = LAYOUTS[0]
    groups = layout.groups(layout.rows_at_once) + 1
    size = groups * layout.components * BINS.polynomial_bytes
    data = bytes.fromhex(pair.public.fingerprint) + struct.pack("<I", layout.rows_at_once + 1) + bytes(32 + size)
    with pytest.raises(WireCorruptError, match="wrong layout"):
        read_rows(data, pair.public, layout)


def test_residues_that_are_none_are_refused(pair, block) -> None:
    data, count = bytearray(write_rows(block)), block.c0.size
    data[NUMBERS_AT : NUMBERS_AT + 4] = b"\xff" * 4
    data[NUMBERS_AT + 4 * count : NUMBERS_AT + 4 * count + 2] = b"\xff" * 2
    with pytest.raises(WireCorruptError, match="not below its prime"):
        read_rows(bytes(data), pair.public, LAYOUTS[0])


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": "products-8192"},
        {"parameters": 7},
        {"seed": b"short"},
        {"seed": 7},
        {"b": b""},
        {"b": b"\0"},
        {"b": bytes(513 * BINS.polynomial_bytes)},
        {"b": b"\xff" * BINS.polynomial_bytes},
    ],
)
def test_a_malformed_public_key_is_refused(pair, change: dict[str, object]) -> None:
    with pytest.raises(WireCorruptError):
        public_key_of_items(items_of_public_key(pair.public) | change, ReadingContext())
