"""Products of several parties with one encrypted matrix, added up by a party without the key, and used again."""

from __future__ import annotations

import hashlib
from itertools import combinations

import numpy as np
import pytest
from tests.scheme.bfv.shared_products.conftest import misses_of

from hekat.scheme.bfv import PRODUCTS, KeyPair
from hekat.scheme.bfv.shared_products import (
    Answer,
    EncryptedMatrix,
    MatrixLayout,
    add_answers,
    add_to_matrix,
    cancelling_masks,
    cover_products,
    encrypt_matrix,
    lay_out_matrices,
    mask_products,
    multiply_matrices,
    open_share,
    prepare_matrix,
)

BOUND = 1 << 27


def lay_out(size: int, columns: int, parties: int) -> MatrixLayout:
    return lay_out_matrices(
        bits=128, rows=size, inner=size, columns=columns, plain_bound=BOUND, opened=False, addends=parties
    )


def masks_of(layout: MatrixLayout, party: int, parties: int, round_number: int, engine):
    """The mask of one party: it adds the masks of its pairs with later parties, and takes off the others'."""

    def seed(first: int, second: int) -> bytes:
        return hashlib.sha256(bytes([first, second, round_number])).digest()

    added = [seed(party, other) for other in range(party + 1, parties)]
    taken = [seed(other, party) for other in range(party)]
    return cancelling_masks(layout, added, taken, engine)


def answer_of(
    encrypted: EncryptedMatrix, plain: np.ndarray, addend: np.ndarray, party: int, parties: int, engine
) -> Answer:
    layout = encrypted.layout
    products = multiply_matrices(prepare_matrix(plain, layout, engine), encrypted, addend=addend, engine=engine)
    return cover_products(products, masks_of(layout, party, parties, 0, engine))


@pytest.mark.parametrize(("size", "columns", "parties"), [(24, 1, 2), (7, 3, 3), (95, 1, 2), (5, 1, 1)])
def test_shares_of_a_sum_of_products_add_up(pair: KeyPair, engine, size, columns, parties) -> None:
    """Also where a refreshed matrix, a share of it added in the clear, takes part in the next round."""
    layout, rng = lay_out(size, columns, parties), np.random.default_rng(51)
    numbers = rng.integers(-(1 << 40), 1 << 40, (size, columns))
    encrypted = encrypt_matrix(pair.private, numbers, layout, engine)
    current = numbers.astype(object)
    for _ in range(2):
        plains = [rng.integers(-BOUND, BOUND, (size, size), endpoint=True) for _ in range(parties)]
        addends = [rng.integers(-(1 << 60), 1 << 60, (size, columns)) for _ in range(parties)]
        answers = [
            answer_of(encrypted, plain, addend, party, parties, engine)
            for party, (plain, addend) in enumerate(zip(plains, addends, strict=True))
        ]
        answer, own = mask_products(add_answers(answers, engine), engine)
        theirs = open_share(pair.private, answer, engine)
        expected = sum(
            plain.astype(object).dot(current) + addend.astype(object)
            for plain, addend in zip(plains, addends, strict=True)
        )
        misses = misses_of(own, theirs, expected, 128)
        assert abs(misses).max() <= 1
        assert np.count_nonzero(misses) <= max(4, layout.numbers // 8)
        current = (expected + misses) % (1 << 128)
        encrypted = add_to_matrix(encrypt_matrix(pair.private, theirs, layout, engine), own, engine)


def test_masks_cancel_only_in_the_sum_of_all(engine) -> None:
    layout = lay_out(5, 2, 4)
    masks = [np.concatenate(masks_of(layout, party, 4, 0, engine)) for party in range(4)]
    primes = np.array(PRODUCTS.primes, np.uint64)[:, np.newaxis]
    assert all((mask < primes).all() for mask in masks)
    assert not (sum(masks) % primes).any()
    for count in (1, 2, 3):
        for some in combinations(masks, count):
            assert np.count_nonzero(sum(some) % primes) == masks[0].size
    # Another round, another mask.
    assert (np.concatenate(masks_of(layout, 0, 4, 1, engine)) != masks[0]).all()


def test_a_covered_answer_opens_to_nothing_before_the_others_are_added(pair: KeyPair, engine) -> None:
    layout, rng = lay_out(6, 1, 2), np.random.default_rng(52)
    numbers, addend = rng.integers(-100, 100, (6, 1)), np.zeros((6, 1), np.int64)
    plains = [rng.integers(-BOUND, BOUND, (6, 6)) for _ in range(2)]
    encrypted = encrypt_matrix(pair.private, numbers, layout, engine)
    answers = [answer_of(encrypted, plain, addend, party, 2, engine) for party, plain in enumerate(plains)]
    for answer, plain in zip(answers, plains, strict=True):
        opened = open_share(pair.private, answer, engine)
        far = misses_of(np.zeros_like(opened), opened, plain.astype(object).dot(numbers.astype(object)), 128)
        assert min(abs(far)) > 1 << 80
