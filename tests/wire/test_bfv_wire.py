"""BFV on the wire: what is written is read again, and nothing else is."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest

from hekat.errors import KeyRefusedError, WireCorruptError, WireKeyError
from hekat.scheme.bfv import (
    CIPHERTEXT_BYTES,
    PRODUCTS,
    Ciphertexts,
    MaskedProducts,
    PrivateKey,
    PublicKey,
    encrypt_rows,
    generate_keys,
    lay_out_products,
    mask_products,
    multiply_columns,
    open_products,
    unmask_products,
)
from hekat.scheme.bfv.keys import expand
from hekat.wire import from_bytes, to_bytes
from hekat.wire.bfv import read_ciphertexts, read_masked, write_ciphertexts, write_masked

LAYOUT = lay_out_products(PRODUCTS, 1 << 60, 1 << 20, 30, row_addends=2, products=1)
COUNTS_AT = 16


@pytest.fixture(scope="module")
def pair():
    return generate_keys()


@pytest.fixture(scope="module")
def rows(pair):
    return encrypt_rows(pair.public, np.arange(60).reshape(30, 2), LAYOUT)


@pytest.fixture(scope="module")
def masked(rows):
    return mask_products(multiply_columns(np.ones((3, 30), np.int64), rows, LAYOUT), LAYOUT)


def test_a_public_key_comes_back(pair) -> None:
    assert from_bytes(to_bytes(pair.public), PublicKey) == pair.public


def test_ciphertexts_come_back_and_take_the_bytes_that_are_promised(pair, rows) -> None:
    data = write_ciphertexts(rows)
    assert len(data) == 2 * CIPHERTEXT_BYTES + COUNTS_AT + 4
    again = read_ciphertexts(data, pair.public)
    assert all(np.array_equal(a, b) for a, b in zip(again.c0 + again.c1, rows.c0 + rows.c1, strict=True))


def test_masked_products_come_back_and_open(pair, masked) -> None:
    again = read_masked(write_masked(masked[0]), pair.public)
    opened = unmask_products(open_products(pair.private, again, LAYOUT), masked[1], LAYOUT)
    assert opened == [sum(range(0, 60, 2)), sum(range(1, 60, 2))] * 3


def test_written_bytes_are_those_of_version_1() -> None:
    """Of numbers that everybody can make again: two expanded seeds stand for b and for ciphertexts."""
    key = PublicKey(PRODUCTS, bytes(32), expand(PRODUCTS, b"\1" * 32))
    ciphertexts = Ciphertexts(key, tuple(x[np.newaxis] for x in key.a), tuple(x[np.newaxis] for x in key.b))
    places = np.array([0, 7, 8191])
    c0 = tuple(x[0][:, places].T for x in ciphertexts.c0)
    products = MaskedProducts(key, ciphertexts.c1, c0, np.zeros(3, np.int64), places)
    written = (to_bytes(key), write_ciphertexts(ciphertexts), write_masked(products))
    assert [hashlib.sha256(data).hexdigest()[:32] for data in written] == [
        "872679a6a7895a72d8c08845fd5f8f57",
        "0627c920b3c3aca187abcdf5fb79b96d",
        "33fdbdcb18716f69d1fe73b0194edca8",
    ]


def test_a_private_key_is_not_written(pair) -> None:
    with pytest.raises(KeyRefusedError, match="not sent"):
        to_bytes(pair.private)
    with pytest.raises(KeyRefusedError, match="not sent"):
        from_bytes(to_bytes(pair.public), PrivateKey)


def test_another_keys_ciphertexts_are_refused(rows, masked) -> None:
    other = generate_keys().public
    for data, read in ((write_ciphertexts(rows), read_ciphertexts), (write_masked(masked[0]), read_masked)):
        with pytest.raises(WireKeyError, match="another key"):
            read(data, other)


def with_count(data: bytes, count: int, at: int = COUNTS_AT) -> bytes:
    return data[:at] + struct.pack("<I", count) + data[at + 4 :]


def test_other_sizes_are_refused_before_anything_of_that_size_is_made(pair, rows, masked) -> None:
    whole, products = write_ciphertexts(rows), write_masked(masked[0])
    cases = [
        (read_ciphertexts, data)
        for data in (b"", whole[:10], whole[:-1], whole + b"\0", with_count(whole, 0), with_count(whole, 2**32 - 1))
    ] + [
        (read_masked, data)
        for data in (
            products[:20],
            products[:-1],
            products + b"\0",
            with_count(products, 0),
            with_count(products, 2**32 - 1),
            with_count(products, 2**32 - 1, COUNTS_AT + 4),
        )
    ]
    for read, data in cases:
        with pytest.raises(WireCorruptError):
            read(data, pair.public)


def test_residues_and_places_that_are_none_are_refused(pair, rows, masked) -> None:
    # High halves of the first part's c0 come behind its low ones: all ones is above every prime.
    high_at = COUNTS_AT + 4 + 4 * 2 * 2 * PRODUCTS.degree
    data = bytearray(write_ciphertexts(rows))
    data[high_at : high_at + 2] = data[COUNTS_AT + 4 : COUNTS_AT + 8] = b""
    data[COUNTS_AT + 4 : COUNTS_AT + 4] = b"\xff" * 4
    data[high_at:high_at] = b"\xff" * 2
    with pytest.raises(WireCorruptError, match="not below its prime"):
        read_ciphertexts(bytes(data), pair.public)
    products = write_masked(masked[0])
    holders_at = COUNTS_AT + 8
    for at in (holders_at, holders_at + 4 * masked[0].count):
        bad = products[:at] + struct.pack("<I", PRODUCTS.degree) + products[at + 4 :]
        with pytest.raises(WireCorruptError, match="do not fit"):
            read_masked(bad, pair.public)


@pytest.mark.parametrize("change", [{"parameters": "A8-32"}, {"seed": b"short"}, {"b": b"\0"}])
def test_a_malformed_public_key_is_refused(pair, change: dict[str, object]) -> None:
    from hekat.wire.bfv import _public_key, _public_key_items
    from hekat.wire.kinds import ReadingContext

    with pytest.raises(WireCorruptError):
        _public_key(_public_key_items(pair.public) | change, ReadingContext())
