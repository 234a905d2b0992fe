"""Inner products that tell a sum from another one: as plain integers, and for the odds that they are said to have."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from hekat.channel.canonical import encode_fields, encode_number
from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.sum_check import (
    InnerProducts,
    products_agree,
    read_whole,
    row_count,
    whole_bits,
    whole_bytes,
    write_whole,
)
from hekat.scheme.lattice import SETS

STATEMENT = bytes(range(32))


def vector(count: int, bits: int, seed: int = 1) -> np.ndarray:
    values = np.random.default_rng(seed).integers(0, 1 << bits, count, dtype=np.uint64)
    values[0], values[-1] = (1 << bits) - 1, 0
    return values


def products(*blocks: np.ndarray, rows: int = 8, statement: bytes = STATEMENT) -> np.ndarray:
    made = InnerProducts(statement, rows)
    for block in blocks:
        made.add(block)
    return made.values


@pytest.mark.quick_values
@pytest.mark.parametrize("bits", [*range(25, 56), 8, 1])
@pytest.mark.parametrize("count", [2, 7, 64, 1001])
def test_fields_are_read_as_they_were_written(bits, count) -> None:
    fields = vector(count, bits)
    written = write_whole(fields, bits)
    assert len(written) == whole_bytes(count, bits) == -(-count * (bits // 8 * 8) // 8) + -(-count * (bits % 8) // 8)
    assert np.array_equal(read_whole(written, count, bits), fields)
    for other in (written[:-1], written + b"\0", b""):
        with pytest.raises(ProtocolError, match="wrong size"):
            read_whole(other, count, bits)


def test_products_are_those_of_plain_integers() -> None:
    """The bytes that docs/spec/committee.md names, row after row, block after block."""
    blocks = [vector(33, 50, 1), vector(7, 50, 2)]
    wanted = [0] * 8
    for number, block in enumerate(blocks):
        seed = encode_fields(b"hekat/lattice/sum-check/1", STATEMENT, encode_number(number))
        stream = hashlib.shake_256(seed).digest(2 * 8 * len(block))
        for row in range(8):
            for place, value in enumerate(block.tolist()):
                start = 2 * (row * len(block) + place)
                wanted[row] += int.from_bytes(stream[start : start + 2], "little") * value
    assert products(*blocks).tolist() == [value % 2**64 for value in wanted]


@pytest.mark.parametrize("name", SETS)
def test_the_odds_of_another_sum_are_2_to_the_minus_128(name) -> None:
    form, most = SETS[name].form, SETS[name].max_parties
    for addend_count in (2, 3, most):
        bits = whole_bits(form, addend_count)
        assert (1 << bits) - 1 >= addend_count * ((1 << max(form.field_bits)) - 1) >= 1 << (bits - 1)
        assert bits <= 53
        # The worst difference is 2^(w - 1): mod 2^64 its product with a word tells 65 - w bits of the word.
        assert row_count(form, addend_count) * min(16, 64 - (bits - 1)) >= 128
        assert 8 <= row_count(form, addend_count) <= 11, "as docs/spec/committee.md and SECURITY.md say"


@pytest.mark.parametrize("bits", [46, 49, 53])
def test_any_one_field_that_is_off_is_found(bits) -> None:
    """By one, by the largest power of two there is, in the first and the last place: the hardest differences."""
    rows = {46: 8, 49: 8, 53: 11}[bits]
    uploads = {name: vector(300, bits - 3, seed) for seed, name in enumerate("abcde")}
    parts = {name: products(upload, rows=rows) for name, upload in uploads.items()}
    total = sum(uploads.values())
    assert products_agree(products(total, rows=rows), parts)
    for place in (0, 150, 299):
        for difference in (1, 1 << (bits - 1), (1 << bits) - 1):
            altered = total.copy()
            altered[place] ^= np.uint64(difference)
            assert not products_agree(products(altered, rows=rows), parts)


ALTERED = {
    "one twice": lambda u: sum(u.values()) + u["b"],
    "one left out": lambda u: sum(u.values()) - u["b"],
    "one five times": lambda u: 5 * u["b"],
    "two fields exchanged": lambda u: sum(u.values())[[1, 0, *range(2, 300)]],
    "moved by one": lambda u: np.roll(sum(u.values()), 1),
}


@pytest.mark.parametrize("altered", ALTERED)
def test_other_sums_of_the_uploads_are_found(altered) -> None:
    uploads = {name: vector(300, 46, seed) for seed, name in enumerate("abcde")}
    parts = {name: products(upload) for name, upload in uploads.items()}
    assert not products_agree(products(ALTERED[altered](uploads)), parts)


def test_the_vector_follows_from_the_statement() -> None:
    block = vector(50, 46)
    assert not np.array_equal(products(block), products(block, statement=bytes(32)))
    assert not np.array_equal(products(block, block)[:4], 2 * products(block)[:4]), "and is another one in each block"
