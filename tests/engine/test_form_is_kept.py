"""Ciphertexts stay in the engine's form from encryption until their limbs are asked for: conversions are counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
import scipy.sparse

from hekat import _native
from hekat.engine.cpu import CpuEngine, usable_paths
from hekat.engine.limbs import limbs_from_ints
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import Ciphertexts, KeyPair, encrypt
from hekat.scheme.paillier.evaluate import (
    add,
    add_many,
    add_plain,
    matmul_plain,
    multiply_plain,
    negate,
    segment_sum,
    subtract,
    sum_along,
)

COUNT = 20
CHAINS: dict[str, Callable[[Ciphertexts], Ciphertexts]] = {
    "additions": lambda c: add(add(c, c), add_many([c, c, c])),
    "differences": lambda c: subtract(c, negate(add(c, c))),
    "sums": lambda c: sum_along(sum_along(c.reshape((4, 5)), 1)),
    "segments": lambda c: segment_sum(c, np.arange(COUNT) % 3, 4),
    "scalars": lambda c: multiply_plain(multiply_plain(c, np.arange(COUNT) - 9), 3),
    "matrices": lambda c: matmul_plain(np.ones((2, 7), np.int64), matmul_plain(signed_matrix(7), c)),
    "sparse matrices": lambda c: matmul_plain(scipy.sparse.csr_array(signed_matrix(7)), c),
    "shapes": lambda c: Ciphertexts.concatenate([c[::2], c[1::2]]).reshape((5, 4))[1:, ::-1],
}


def signed_matrix(rows: int) -> np.ndarray:
    return np.arange(rows * COUNT).reshape(rows, COUNT) % 11 - 5


def conversions(work: Callable[[], object]) -> tuple[int, int]:
    """Values that `work` took into the form of a modulus, and out of it."""
    before = _native.conversion_counts()
    work()
    after = _native.conversion_counts()
    return after[0] - before[0], after[1] - before[1]


def plaintexts(count: int) -> PackedPlaintext:
    return PackedPlaintext(limbs_from_ints(list(range(count)), 1), 1000)


@pytest.fixture(scope="module", params=usable_paths())
def ciphertexts(request: pytest.FixtureRequest, paillier_keys: Callable[[int], KeyPair]) -> Ciphertexts:
    return encrypt(paillier_keys(512).public, plaintexts(COUNT), engine=CpuEngine(2, path=request.param))


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_of_operations_converts_nothing(ciphertexts: Ciphertexts, chain: str) -> None:
    assert conversions(lambda: CHAINS[chain](ciphertexts)) == (0, 0)


def test_the_limbs_of_a_result_leave_once(ciphertexts: Ciphertexts) -> None:
    total = reduce(add, [ciphertexts] * 5)
    assert conversions(total.to_limbs) == (0, COUNT)


def test_a_plaintext_enters_once(ciphertexts: Ciphertexts) -> None:
    assert conversions(lambda: add_plain(ciphertexts, plaintexts(COUNT))) == (COUNT, 0)


def test_conversions_are_counted(ciphertexts: Ciphertexts) -> None:
    engine, public = ciphertexts.engine, ciphertexts.public
    limbs = ciphertexts.to_limbs()
    assert conversions(lambda: Ciphertexts.from_limbs(public, limbs, engine=engine)) == (COUNT, 0)
    assert conversions(lambda: engine.reduce(limbs, public.n_squared)) == (COUNT, 0)
    assert conversions(lambda: engine.store(ciphertexts.residues)) == (0, COUNT)
