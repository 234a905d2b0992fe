"""What is computed on ciphertexts is what is computed on integers, mod n, centred."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.scheme.paillier import (
    add,
    add_many,
    add_plain,
    matmul_plain,
    multiply_plain,
    negate,
    rerandomise,
    segment_sum,
    subtract,
    sum_along,
)
from hekat.scheme.paillier.ciphertexts import Ciphertexts

few = settings(max_examples=12, deadline=None)
words = st.integers(-(2**63), 2**63 - 1)


def space(setting):
    """Plaintexts of a key, its ends and zero among them."""
    return st.one_of(st.integers(-setting.bound, setting.bound), st.sampled_from([0, 1, -1, setting.bound]))


@few
@given(data=st.data())
def test_add_subtract_negate(setting, data):
    pairs = data.draw(st.lists(st.tuples(space(setting), space(setting)), min_size=1, max_size=3))
    left, right = [list(values) for values in zip(*pairs, strict=True)]
    x, y = setting.encrypt(left), setting.encrypt(right, "djn")
    assert setting.decrypt(add(x, y)) == [setting.centred(a + b) for a, b in pairs]
    assert setting.decrypt(subtract(x, y)) == [setting.centred(a - b) for a, b in pairs]
    assert setting.decrypt(negate(x)) == [-a for a in left]


@few
@given(data=st.data())
def test_add_plain(setting, data):
    pairs = data.draw(st.lists(st.tuples(space(setting), space(setting)), min_size=1, max_size=3))
    left, right = [list(values) for values in zip(*pairs, strict=True)]
    x = setting.encrypt(left)
    wanted = [setting.centred(a + b) for a, b in pairs]
    assert setting.decrypt(add_plain(x, right)) == wanted
    assert setting.decrypt(add_plain(x, setting.plain(right))) == wanted
    one = right[0]
    wanted = [setting.centred(a + one) for a in left]
    assert setting.decrypt(add_plain(x, one)) == wanted
    assert setting.decrypt(add_plain(x, setting.plain([one]))) == wanted


@few
@given(data=st.data())
def test_multiply_plain(setting, data):
    pairs = data.draw(st.lists(st.tuples(space(setting), words), min_size=1, max_size=3))
    left, right = [list(values) for values in zip(*pairs, strict=True)]
    x = setting.encrypt(left)
    wanted = [setting.centred(a * b) for a, b in pairs]
    assert setting.decrypt(multiply_plain(x, np.array(right, np.int64))) == wanted
    assert setting.decrypt(multiply_plain(x, np.array(right, object))) == wanted


@pytest.mark.parametrize(
    "scalars",
    [
        np.array([-128, 127, 0], np.int8),
        np.array([2**64 - 1, 0, 1], np.uint64),
        np.array([-(2**63), 2**63 - 1, -1], np.int64),
        np.array([True, False, True]),
        [3, -3, 2**100],
        [-(2**255) + 1, 2**250, 0],
    ],
    ids=["int8", "uint64", "int64", "bool", "list", "wide"],
)
def test_scalar_types(setting, scalars):
    values = [5, -6, 7]
    wanted = [setting.centred(a * int(b)) for a, b in zip(values, scalars, strict=True)]
    assert setting.decrypt(multiply_plain(setting.encrypt(values), scalars)) == wanted


def test_zero_scalar_gives_the_trivial_ciphertext(setting):
    product = multiply_plain(setting.encrypt([5]), 0)
    assert product.to_limbs()[0, 0] == 1
    assert not product.to_limbs()[0, 1:].any()
    assert setting.decrypt(rerandomise(product)) == [0]


@pytest.mark.parametrize("seed", [1, 2])
def test_broadcasting(setting, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-99, 99, (2, 1)), rng.integers(-99, 99, (1, 3))
    x, y = (setting.encrypt(v.ravel().tolist()).reshape(v.shape) for v in (a, b))
    assert add(x, y).shape == (2, 3)
    assert setting.decrypt(add(x, y)) == (a + b).ravel().tolist()
    assert setting.decrypt(subtract(x, y)) == (a - b).ravel().tolist()
    assert setting.decrypt(multiply_plain(x, b)) == (a * b).ravel().tolist()
    wide = add(x, y)
    assert setting.decrypt(add_plain(wide, b)) == (a + b + b).ravel().tolist()
    scalar = x[0, 0]
    assert scalar.shape == ()
    assert setting.decrypt(multiply_plain(scalar, -3)) == [-3 * int(a[0, 0])]


@few
@given(data=st.data())
def test_matmul_plain(setting, data):
    r, k, m = (data.draw(st.integers(1, 3)) for _ in range(3))
    entries = st.lists(st.integers(-(2**31), 2**31), min_size=r * k, max_size=r * k)
    plain = np.array(data.draw(entries), np.int64).reshape(r, k)
    values = data.draw(st.lists(st.integers(-(2**40), 2**40), min_size=k * m, max_size=k * m))
    encrypted = setting.encrypt(values).reshape(k, m)
    wanted = plain.astype(object) @ np.array(values, object).reshape(k, m)
    product = matmul_plain(plain, encrypted)
    assert product.shape == (r, m)
    assert setting.decrypt(product) == wanted.ravel().tolist()
    vector = matmul_plain(plain, encrypted[:, 0])
    assert vector.shape == (r,)
    assert setting.decrypt(vector) == wanted[:, 0].tolist()


def test_empty_matmul(setting):
    no_terms = matmul_plain(np.zeros((2, 0), np.int64), setting.encrypt([]))
    assert setting.decrypt(no_terms) == [0, 0]
    no_columns = matmul_plain(np.ones((2, 1), np.int64), setting.encrypt([]).reshape(1, 0))
    assert no_columns.shape == (2, 0)


@few
@given(data=st.data())
def test_sums(setting, data):
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    values = data.draw(st.lists(words, min_size=rows * columns, max_size=rows * columns))
    table = np.array(values, object).reshape(rows, columns)
    x = setting.encrypt(values).reshape(rows, columns)
    assert setting.decrypt(sum_along(x, 0)) == table.sum(axis=0).tolist()
    assert setting.decrypt(sum_along(x, -1)) == table.sum(axis=1).tolist()
    assert sum_along(x).shape == ()
    assert setting.decrypt(sum_along(x)) == [sum(values)]
    assert setting.decrypt(add_many([x[i] for i in range(rows)])) == table.sum(axis=0).tolist()


def test_sum_of_nothing(setting):
    assert setting.decrypt(sum_along(setting.encrypt([]))) == [0]


@few
@given(data=st.data())
def test_segment_sum(setting, data):
    pairs = data.draw(st.lists(st.tuples(words, st.integers(0, 3)), min_size=1, max_size=8))
    values, segments = [list(column) for column in zip(*pairs, strict=True)]
    wanted = [sum(v for v, s in pairs if s == i) for i in range(5)]
    sums = segment_sum(setting.encrypt(values), np.array(segments, np.int64), 5)
    assert setting.decrypt(sums) == wanted


def test_rerandomise_keeps_plaintexts_and_shape(setting):
    values = [1, -2, 3, -4]
    x = setting.encrypt(values).reshape(2, 2)
    for key in (None, setting.keys.public, setting.keys.private):
        y = rerandomise(x, key)
        assert y.shape == (2, 2)
        assert setting.decrypt(y) == values
        assert (y.to_limbs() != x.to_limbs()).any(axis=-1).all()


def test_a_long_chain(setting):
    """sum of 3 (x - y) + 1, by two ways, stays exact."""
    x, y = setting.encrypt([10, 20]), setting.encrypt([1, 50], "djn")
    chain = sum_along(add_plain(multiply_plain(subtract(x, y), 3), 1), 0)
    assert setting.decrypt(chain) == [3 * (9 - 30) + 2]
    joined = Ciphertexts.concatenate([x, negate(y)])
    assert setting.decrypt(matmul_plain(np.array([[3, 3, 3, 3]]), joined)) == [3 * (9 - 30)]
