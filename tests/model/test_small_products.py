"""Products in pieces are the products, and no piece is so large that BLAS would wake threads for it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.model.small_products import multiply_columns, multiply_rows, pieces_of

SHAPES = [(0, 3, 2), (1, 1, 1), (256, 32, 32), (257, 32, 32), (1024, 32, 32), (1500, 32, 1), (700, 64, 64), (300, 0, 4)]


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [*SHAPES, (130, 200, 200)])
def test_pieces_make_the_whole_product(rows, inputs, outputs) -> None:
    rng = np.random.default_rng(rows + inputs)
    values, weight = rng.normal(size=(rows, inputs)), rng.normal(size=(inputs, outputs))
    slopes = rng.normal(size=(rows, outputs))
    for given in (values, csr_array(values)):
        assert np.allclose(multiply_rows(given, weight), values @ weight, rtol=1e-12, atol=1e-12)
        assert np.allclose(multiply_columns(given, slopes), values.T @ slopes, rtol=1e-12, atol=1e-11)
    assert multiply_rows(values, weight).shape == (rows, outputs)
    assert multiply_columns(values, slopes).shape == (inputs, outputs)


@pytest.mark.parametrize(("rows", "inputs", "outputs"), SHAPES)
def test_pieces_of_small_weights_stay_below_what_blas_divides(rows, inputs, outputs) -> None:
    pieces = list(pieces_of(rows, inputs, outputs))
    assert [n for piece in pieces for n in range(rows)[piece]] == list(range(rows))
    for piece in pieces:
        here = piece.stop - piece.start
        assert here * inputs * outputs <= 65536 * 4  # OpenBLAS: SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD
        assert here * max(inputs, outputs) < 2304 * 4  # of a matrix with a vector


def test_large_weights_are_left_to_threads() -> None:
    assert list(pieces_of(1024, 512, 256)) == [slice(0, 1024)]
