"""Vectors and answers of products of slots on the wire: what is written is read again, and nothing else is."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.errors import HekatError, KeyRefusedError, WireCorruptError, WireKeyError
from hekat.scheme.bfv import PRODUCTS, PublicKey, generate_keys
from hekat.scheme.bfv.keys import expand
from hekat.scheme.bfv.slot_products import (
    SLOT_PRIMES,
    EncryptedSlots,
    SlotAnswer,
    SlotTerm,
    encrypt_slots,
    lay_out_slot_sums,
    multiply_slots_masked,
    open_slots,
    prepare_slots,
)
from hekat.wire import to_bytes
from hekat.wire.slot_products import read_slot_answer, read_slots, write_slot_answer, write_slots

KEY_BYTES, SEED_BYTES = 16, 32
# Two primes in an answer and three; one ciphertext and two.
LAYOUTS = {
    2: lay_out_slot_sums(prime=65537, count=20),
    3: lay_out_slot_sums(prime=SLOT_PRIMES[1], count=PRODUCTS.degree + 1),
}


@pytest.fixture(scope="module")
def pair():
    return generate_keys()


@pytest.fixture(scope="module")
def played(pair):
    """For each layout the plain and the encrypted vector, the answer, and the own share."""
    made = {}
    for primes, layout in LAYOUTS.items():
        values = np.arange(layout.sums.count, dtype=np.uint64)
        plain, encrypted = prepare_slots(values, layout.sums), encrypt_slots(pair.private, values, layout.sums)
        made[primes] = (plain, encrypted, *multiply_slots_masked(layout, [SlotTerm(plain, encrypted)]))
    return made


@pytest.mark.parametrize("primes", LAYOUTS)
def test_vectors_and_answers_come_back_and_take_the_bytes_that_are_promised(pair, played, primes) -> None:
    layout, (_, encrypted, answer, own) = LAYOUTS[primes], played[primes]
    data = write_slots(encrypted)
    assert len(data) == layout.sums.written_bytes + KEY_BYTES + SEED_BYTES
    again = read_slots(data, pair.public, layout.sums)
    assert again.seed == encrypted.seed
    assert all(np.array_equal(a, b) for a, b in zip(again.c0, encrypted.c0, strict=True))
    data = write_slot_answer(answer)
    assert layout.kept_primes == primes
    assert len(data) == layout.answer_bytes + KEY_BYTES
    theirs = open_slots(pair.private, read_slot_answer(data, pair.public, layout))
    squares = np.arange(layout.sums.count, dtype=np.uint64) ** 2
    assert np.array_equal((own + theirs) % layout.sums.prime, squares % layout.sums.prime)


def test_written_bytes_are_those_of_version_1() -> None:
    """Of numbers that everybody can make again: expanded seeds stand for b, for ciphertexts and for answers."""
    key = PublicKey(PRODUCTS, bytes(32), expand(PRODUCTS, b"\1" * 32))
    written = []
    for layout in LAYOUTS.values():
        c0 = tuple(np.broadcast_to(x, (layout.sums.blocks, *x.shape)) for x in key.a)
        written.append(write_slots(EncryptedSlots(key, layout.sums, b"\2" * 32, c0)))
        half = tuple(x[:, : len(part.primes)] for part, x in zip(layout.kept.parts, c0, strict=False))
        written.append(write_slot_answer(SlotAnswer(key, layout, half, half)))
    assert [hashlib.sha256(data).hexdigest()[:32] for data in written] == EXPECTED


EXPECTED = [
    "117894c97a9966d7900382db3544023f",
    "f06393372feae11755b6a663bb23becf",
    "1eb57527cd844c5ebb3de201e0febde3",
    "84c59f42d380744ae3e2030258ecc21e",
]


def test_plain_vectors_are_not_written(played) -> None:
    with pytest.raises(KeyRefusedError, match="not sent"):
        to_bytes(played[2][0])


def test_another_keys_fields_are_refused(played) -> None:
    other, (_, encrypted, answer, _) = generate_keys().public, played[2]
    with pytest.raises(WireKeyError, match="another key"):
        read_slots(write_slots(encrypted), other, LAYOUTS[2].sums)
    with pytest.raises(WireKeyError, match="another key"):
        read_slot_answer(write_slot_answer(answer), other, LAYOUTS[2])


def cases(played, primes):
    """For both kinds of fields how they are read, whose layout they have, and their bytes."""
    _, encrypted, answer, _ = played[primes]
    layout, other = LAYOUTS[primes], LAYOUTS[5 - primes]
    return (
        (read_slots, layout.sums, other.sums, write_slots(encrypted), KEY_BYTES + SEED_BYTES, encrypted.c0[0].size),
        (read_slot_answer, layout, other, write_slot_answer(answer), KEY_BYTES, answer.c1[0].size),
    )


def test_other_sizes_are_refused(pair, played) -> None:
    for read, layout, other, whole, _, _ in cases(played, 2):
        for data in (b"", whole[:10], whole[:40], whole[:-1], whole + b"\0"):
            with pytest.raises(WireCorruptError):
                read(data, pair.public, layout)
        with pytest.raises(WireCorruptError, match="wrong size"):
            read(whole, pair.public, other)


@pytest.mark.parametrize("primes", LAYOUTS)
def test_residues_that_are_none_are_refused(pair, played, primes) -> None:
    """All ones in both planes of a residue."""
    for read, layout, _, whole, start, count in cases(played, primes):
        data = bytearray(whole)
        data[start : start + 4] = b"\xff" * 4
        data[start + 4 * count : start + 4 * count + 2] = b"\xff" * 2
        with pytest.raises(WireCorruptError, match="not below its prime"):
            read(bytes(data), pair.public, layout)


@settings(max_examples=20)
@given(data=st.data())
def test_any_change_is_read_or_refused_by_name(pair, played, data) -> None:
    """Whatever comes, a reader makes an object of the layout's shapes or raises an error of Hekat."""
    read, layout, _, whole, _, _ = data.draw(st.sampled_from(cases(played, 2)))
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    try:
        came = read(bytes(changed), pair.public, layout)
    except HekatError:
        return
    assert {x.shape[0] for x in came.c0} == {1}
