"""Arithmetic of shares: every operation against Python's integers mod 2^128, at the ends of the ring too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.errors import InputError
from hekat.protocol.shares.share_array import (
    add_shares,
    constant,
    from_integers,
    matmul,
    matmul_integers,
    multiply,
    negate,
    random_shares,
    shift_left,
    shift_right,
    signed_integers,
    subtract,
    sum_along,
    to_floats,
)

RING = 1 << 128
ENDS = [0, 1, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 2**127 - 1, 2**127, 2**128 - 2**64, RING - 2, RING - 1]
elements = st.one_of(st.sampled_from(ENDS), st.integers(0, RING - 1))


def shares_of(values):
    return limbs_from_ints([value % RING for value in values], 2)


def ints(shares):
    return ints_from_limbs(shares)


@given(st.lists(st.tuples(elements, elements), min_size=1, max_size=20), st.integers(0, 127))
def test_elementwise_operations_are_those_of_the_ring(pairs, bits):
    a, b = (shares_of(column) for column in zip(*pairs, strict=True))
    assert ints(add_shares(a, b)) == [(x + y) % RING for x, y in pairs]
    assert ints(subtract(a, b)) == [(x - y) % RING for x, y in pairs]
    assert ints(multiply(a, b)) == [x * y % RING for x, y in pairs]
    assert ints(negate(a)) == [-x % RING for x, _ in pairs]
    assert ints(shift_left(a, bits)) == [(x << bits) % RING for x, _ in pairs]
    assert ints(shift_right(a, bits)) == [x >> bits for x, _ in pairs]
    assert ints(sum_along(a, 0)[np.newaxis]) == [sum(x for x, _ in pairs) % RING]
    assert list(signed_integers(a)) == [x - RING if x >= RING // 2 else x for x, _ in pairs]


def test_every_pair_of_ends_multiplies_and_adds():
    a, b = (shares_of(column) for column in zip(*[(x, y) for x in ENDS for y in ENDS], strict=True))
    assert ints(multiply(a, b)) == [x * y % RING for x in ENDS for y in ENDS]
    assert ints(add_shares(a, b)) == [(x + y) % RING for x in ENDS for y in ENDS]


@pytest.mark.parametrize("limit_bits", [1, 20, 31, 47])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("extreme", [False, True])
def test_integer_matrices_multiply_shares_exactly(limit_bits, sparse, extreme):
    rng = np.random.default_rng(limit_bits)
    rows, k, m = 5, 70, 2
    top = (1 << limit_bits) - 1
    matrix = rng.integers(-top, top + 1, (rows, k))
    if extreme:
        matrix[:] = np.where(np.arange(rows)[:, np.newaxis] % 2, top, -top)
    if sparse:
        matrix[rng.random(matrix.shape) < 0.7] = 0
    shares = np.full((k, m, 2), 2**64 - 1, np.uint64) if extreme else random_shares((k, m))
    values = np.array(ints(shares), object).reshape(k, m)
    expected = [int(value) % RING for value in (matrix.astype(object) @ values).ravel()]
    assert ints(matmul_integers(csr_array(matrix) if sparse else matrix, shares)) == expected


def test_integers_beyond_48_bits_are_refused():
    with pytest.raises(InputError, match="too wide"):
        matmul_integers(np.array([[1 << 48]]), random_shares((1, 1)))


def test_shares_multiply_shares():
    a, b = random_shares((4, 6)), random_shares((6, 3))
    left, right = (np.array(ints(part), object).reshape(part.shape[:2]) for part in (a, b))
    assert ints(matmul(a, b)) == [int(value) % RING for value in (left @ right).ravel()]


def test_integers_and_floats_keep_their_sign():
    values = np.array([0, 1, -1, 5, -5, 2**62, -(2**62)])
    assert list(signed_integers(from_integers(values))) == values.tolist()
    assert to_floats(from_integers(values), 2).tolist() == (values / 4).tolist()
    assert list(signed_integers(constant(-3)[np.newaxis])) == [-3]
    assert to_floats(constant(-(2**100)), 100) == -1.0


def test_random_shares_are_uniform_in_every_bit():
    shares = random_shares((4096,))
    bits = np.unpackbits(shares.view(np.uint8).reshape(4096, 16), axis=1).sum(axis=0)
    # Six standard deviations of a fair coin, for each of 128 bits.
    assert np.abs(bits.astype(np.int64) - 2048).max() < 6 * 32
