"""Products of plain matrices, dense and sparse, with ciphertexts: by parts, exact, and with a word in between."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse

from hekat.errors import InputError
from hekat.scheme.paillier import matmul_plain

MODULE = sys.modules["hekat.scheme.paillier.plain_matrix"]


def random_matrix(seed: int, shape: tuple[int, int], share: float) -> np.ndarray:
    """Signed integers of 40 bits; a `share` of them is there."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < share, rng.integers(-(2**40), 2**40, shape), 0)


@pytest.fixture
def parts_of_two_rows(monkeypatch):
    monkeypatch.setattr(MODULE, "MIN_PART_ROWS", 2)
    monkeypatch.setattr(MODULE, "PART_TERMS", 1)


@pytest.mark.quick_values
@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("columns", [None, 1, 3])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_products_by_parts(setting, parts_of_two_rows, rows, columns, convert):
    values = [5, -7, 2**50, 1] if columns is None else list(range(-5, 4 * columns - 5))
    right = np.array(values, object).reshape(4, -1)
    ciphertexts = setting.encrypt(values)
    if columns is not None:
        ciphertexts = ciphertexts.reshape(4, columns)
    plain = random_matrix(rows, (rows, 4), 0.6)
    product = matmul_plain(convert(plain), ciphertexts)
    assert product.shape == ((rows,) if columns is None else (rows, columns))
    assert setting.decrypt(product) == (plain.astype(object) @ right).ravel().tolist()


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil"])
def test_sparse_layouts(small, layout):
    plain = random_matrix(3, (30, 20), 0.1)
    values = list(range(-10, 10))
    product = matmul_plain(scipy.sparse.csr_array(plain).asformat(layout), small.encrypt(values))
    assert small.decrypt(product) == (plain @ np.array(values)).tolist()


def test_entries_that_come_twice_add_up(small):
    plain = scipy.sparse.csr_array((np.array([3, 4, -9]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    assert not plain.has_canonical_format
    assert small.decrypt(matmul_plain(plain, small.encrypt([2, 10]))) == [52]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_])
def test_sparse_types(small, dtype):
    plain = np.array([[1, 0], [0, 1], [0, 0]]).astype(dtype)
    assert small.decrypt(matmul_plain(scipy.sparse.csr_array(plain), small.encrypt([6, -3]))) == [6, -3, 0]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_sparse_matrices(small, shape):
    product = matmul_plain(scipy.sparse.csr_array(shape, dtype=np.int64), small.encrypt([4] * shape[1]))
    assert small.decrypt(product) == [0] * shape[0]


def test_sparse_refusals(small):
    with pytest.raises(InputError, match="plain operand refused; expected integers; got values of dtype float64"):
        matmul_plain(scipy.sparse.csr_array(np.eye(2)), small.encrypt([1, 2]))
    with pytest.raises(InputError, match=r"shapes do not fit a matrix product.*got \(2, 2\) and \(3,\)"):
        matmul_plain(scipy.sparse.csr_array(np.eye(2, dtype=np.int64)), small.encrypt([1, 2, 3]))


def test_a_word_after_every_part(small, parts_of_two_rows):
    said = []
    ciphertexts = small.encrypt([1, 2, 3, 4]).reshape(2, 2)
    matmul_plain(np.ones((5, 2), np.int64), ciphertexts, progress=lambda done, total: said.append((done, total)))
    assert said == [(2, 10), (4, 10), (6, 10), (8, 10), (9, 10), (10, 10)]
