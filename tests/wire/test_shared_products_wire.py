"""Matrices and answers of products left in shares on the wire: what is written is read again, and nothing else is."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.errors import HekatError, KeyRefusedError, WireCorruptError, WireKeyError
from hekat.scheme.bfv import PRODUCTS, PublicKey, generate_keys
from hekat.scheme.bfv.keys import expand
from hekat.scheme.bfv.shared_products import (
    Answer,
    EncryptedMatrix,
    cancelling_masks,
    cover_products,
    encrypt_matrix,
    first_primes,
    lay_out_matrices,
    mask_products,
    multiply_masked,
    multiply_matrices,
    open_share,
    prepare_matrix,
)
from hekat.wire import to_bytes
from hekat.wire.shared_products import read_answer, read_matrix, write_answer, write_matrix

KEY_BYTES, SEED_BYTES = 16, 32
# Two, three and four primes in an answer; several ciphertexts and one.
LAYOUTS = {
    primes: lay_out_matrices(
        bits=bits, rows=5, inner=inner, columns=4, plain_bound=100, opened=False, drop_primes=primes < 4
    )
    for primes, bits, inner in ((2, 60, 3000), (3, 128, 3), (4, 128, 3))
}


@pytest.fixture(scope="module")
def pair():
    return generate_keys()


@pytest.fixture(scope="module")
def played(pair):
    """For each layout the plain and the encrypted matrix, the answer, and the own share."""
    made = {}
    for primes, layout in LAYOUTS.items():
        plain = prepare_matrix(np.arange(5 * layout.shape.inner).reshape(5, -1) % 7, layout)
        encrypted = encrypt_matrix(pair.private, np.ones((layout.shape.inner, 4), np.int64), layout)
        made[primes] = (plain, encrypted, *multiply_masked(plain, encrypted))
    return made


@pytest.mark.parametrize("primes", LAYOUTS)
def test_matrices_and_answers_come_back_and_take_the_bytes_that_are_promised(pair, played, primes) -> None:
    layout, (_, encrypted, answer, own) = LAYOUTS[primes], played[primes]
    data = write_matrix(encrypted)
    assert len(data) == layout.input_bytes + KEY_BYTES + SEED_BYTES
    again = read_matrix(data, pair.public, layout)
    assert again.seed == encrypted.seed
    assert all(np.array_equal(a, b) for a, b in zip(again.c0, encrypted.c0, strict=True))
    data = write_answer(answer)
    assert len(data) == layout.answer_bytes + KEY_BYTES
    came = read_answer(data, pair.public, layout)
    assert came.primes == primes
    theirs = open_share(pair.private, came)
    sums = (own + theirs)[..., 0] if layout.bits > 64 else own + theirs & np.uint64((1 << layout.bits) - 1)
    expected = (np.arange(5 * layout.shape.inner).reshape(5, -1) % 7).sum(axis=1, keepdims=True)
    assert (abs(sums.astype(np.int64) - expected) <= 1).all()


def test_covered_answers_come_back_whole(pair, played) -> None:
    layout, (plain, encrypted, *_) = LAYOUTS[3], played[3]
    masks = cancelling_masks(layout, [b"\1" * 32], [])
    covered = cover_products(multiply_matrices(plain, encrypted), masks)
    came = read_answer(write_answer(covered), pair.public, layout, whole=True)
    assert came.primes == 4
    assert all(np.array_equal(a, b) for a, b in zip(came.c0 + came.c1, covered.c0 + covered.c1, strict=True))
    with pytest.raises(WireCorruptError, match="wrong size"):
        read_answer(write_answer(covered), pair.public, layout)
    with pytest.raises(WireCorruptError, match="wrong size"):
        read_answer(write_answer(mask_products(covered)[0]), pair.public, layout, whole=True)


def test_written_bytes_are_those_of_version_1() -> None:
    """Of numbers that everybody can make again: expanded seeds stand for b, for ciphertexts and for answers."""
    key = PublicKey(PRODUCTS, bytes(32), expand(PRODUCTS, b"\1" * 32))
    written = []
    for primes, layout in LAYOUTS.items():
        inputs, answers = layout.blocks.inputs(layout.shape), layout.blocks.answers(layout.shape)
        c0 = tuple(np.broadcast_to(x, (inputs, 1, *x.shape)) for x in key.a)
        written.append(write_matrix(EncryptedMatrix(key, layout, b"\2" * 32, c0)))
        parts = first_primes(PRODUCTS, primes).parts
        kept = [x[: len(part.primes)] for part, x in zip(parts, key.a, strict=False)]
        c1 = tuple(np.broadcast_to(x, (answers, *x.shape)) for x in kept)
        written.append(write_answer(Answer(key, layout, primes, c1, tuple(x[:, : layout.numbers] for x in kept))))
    assert [hashlib.sha256(data).hexdigest()[:32] for data in written] == EXPECTED


EXPECTED = [
    "9e0fa6182a2b7e9bc892b5b7a3a8167a",
    "585c2c2927e9eb3b7483653cfbb76bd9",
    "117894c97a9966d7900382db3544023f",
    "93ce68ccd3de53944450d29ff995c950",
    "117894c97a9966d7900382db3544023f",
    "a3b4c2ad6f59974323344e5922cdd303",
]


def test_what_is_not_masked_is_not_written(played) -> None:
    plain, encrypted, *_ = played[2]
    for secret in (plain, multiply_matrices(plain, encrypted)):
        with pytest.raises(KeyRefusedError, match="not sent"):
            to_bytes(secret)


def test_another_keys_fields_are_refused(played) -> None:
    other, (_, encrypted, answer, _) = generate_keys().public, played[2]
    with pytest.raises(WireKeyError, match="another key"):
        read_matrix(write_matrix(encrypted), other, LAYOUTS[2])
    with pytest.raises(WireKeyError, match="another key"):
        read_answer(write_answer(answer), other, LAYOUTS[2])


def test_other_sizes_are_refused(pair, played) -> None:
    _, encrypted, answer, _ = played[2]
    for read, whole in ((read_matrix, write_matrix(encrypted)), (read_answer, write_answer(answer))):
        for data in (b"", whole[:10], whole[:40], whole[:-1], whole + b"\0"):
            with pytest.raises(WireCorruptError):
                read(data, pair.public, LAYOUTS[2])
        with pytest.raises(WireCorruptError, match="wrong size"):
            read(whole, pair.public, LAYOUTS[3])


@pytest.mark.parametrize("primes", LAYOUTS)
@pytest.mark.parametrize("place", ["first", "last"])
def test_residues_that_are_none_are_refused(pair, played, primes, place) -> None:
    """All ones in both planes of a residue: of the first array of a field, or of its last one."""
    layout, (_, encrypted, answer, _) = LAYOUTS[primes], played[primes]
    last = answer.c0[-1].size
    cases = (
        (read_matrix, write_matrix(encrypted), KEY_BYTES + SEED_BYTES, encrypted.c0[0].size, encrypted.c0[-1].size),
        (read_answer, write_answer(answer), KEY_BYTES, answer.c1[0].size, last),
    )
    for read, whole, start, first_count, last_count in cases:
        data, count = bytearray(whole), first_count if place == "first" else last_count
        at = start if place == "first" else len(whole) - 6 * last_count
        data[at : at + 4] = b"\xff" * 4
        data[at + 4 * count : at + 4 * count + 2] = b"\xff" * 2
        with pytest.raises(WireCorruptError, match=r"not below its prime|residue that is none"):
            read(bytes(data), pair.public, layout)


@settings(max_examples=40)
@given(data=st.data())
def test_any_change_is_read_or_refused_by_name(pair, played, data) -> None:
    """Whatever comes, a reader makes an object of the layout's shapes or raises an error of Hekat."""
    _, encrypted, answer, _ = played[3]
    read, whole = data.draw(
        st.sampled_from([(read_matrix, write_matrix(encrypted)), (read_answer, write_answer(answer))])
    )
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    try:
        came = read(bytes(changed), pair.public, LAYOUTS[3])
    except HekatError:
        return
    assert [x.shape for x in came.c0] == [x.shape for x in (encrypted if read is read_matrix else answer).c0]
