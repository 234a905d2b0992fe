"""Where the entries of matrices lie in polynomials: `layout` says why there."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.engine.ring.interface import RingArray
from hekat.scheme.bfv.shared_products.layout import MatrixLayout

Scalar = TypeVar("Scalar", bound=np.generic)


def cut_plain(values: npt.NDArray[Scalar], layout: MatrixLayout) -> npt.NDArray[Scalar]:
    """A plain matrix (rows, inner) as the first coefficients of its polynomials, (row blocks, inner blocks, b n).

    All other coefficients are 0.
    """
    shape, blocks = layout.shape, layout.blocks
    row_count, inner_count = blocks.row_count(shape), blocks.inner_count(shape)
    cut = _pad(values, row_count * blocks.rows, inner_count * blocks.inner)
    cut = cut.reshape(row_count, blocks.rows, inner_count, blocks.inner)
    return cut.swapaxes(1, 2).reshape(row_count, inner_count, -1)


def add_encrypted(elements: RingArray, primes: tuple[int, ...], residues: RingArray, layout: MatrixLayout) -> None:
    """Add the entries of a matrix to encrypt, residues (primes, inner * columns), to `elements` in place.

    `elements` (inner blocks, column blocks, primes, N) are coefficients. Without a branch.
    """
    shape, blocks = layout.shape, layout.blocks
    inner_count, column_count = blocks.inner_count(shape), blocks.column_count(shape)
    matrix = residues.reshape(len(primes), shape.inner, shape.columns)
    cut = _pad(matrix, inner_count * blocks.inner, column_count * blocks.columns)
    cut = cut.reshape(len(primes), inner_count, blocks.inner, column_count, -1, blocks.stride)
    places = _grid(elements, layout)[..., 0, ::-1, :]
    places += cut.transpose(1, 3, 0, 4, 2, 5)
    limits = np.array(primes, np.uint64)[:, np.newaxis, np.newaxis, np.newaxis]
    np.minimum(places, places - limits, out=places)


def take_products(elements: RingArray, layout: MatrixLayout) -> RingArray:
    """The entries of a product in C order, (primes, rows * columns), of polynomials (answers, primes, N)."""
    shape, blocks = layout.shape, layout.blocks
    row_count, column_count = blocks.row_count(shape), blocks.column_count(shape)
    primes = elements.shape[1]
    grid = _grid(elements.reshape(row_count, column_count, primes, -1), layout)[..., -1, :]
    matrix = grid.transpose(2, 0, 4, 1, 3, 5).reshape(primes, row_count * blocks.rows, column_count * blocks.columns)
    return matrix[:, : shape.rows, : shape.columns].reshape(primes, -1)


def _grid(elements: RingArray, layout: MatrixLayout) -> RingArray:
    """A view of polynomials (..., N) as (..., k / s, b, n, s): groups of columns, rows, inner places, columns."""
    blocks = layout.blocks
    used = elements[..., : blocks.columns * blocks.rows * blocks.inner]
    # NumPy returns a view where it can, and an axis of one stride can always be cut.
    return used.reshape(*elements.shape[:-1], -1, blocks.rows, blocks.inner, blocks.stride)


def _pad(matrix: npt.NDArray[Scalar], rows: int, columns: int) -> npt.NDArray[Scalar]:
    """A matrix (..., rows, columns), zeros behind it."""
    missing: Any = [(0, 0)] * (matrix.ndim - 2) + [(0, rows - matrix.shape[-2]), (0, columns - matrix.shape[-1])]
    return np.pad(matrix, missing)
