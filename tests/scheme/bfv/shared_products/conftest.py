"""Matrices to multiply, and what shares of their product add up to by Python's integers."""

from __future__ import annotations

import numpy as np

from hekat.engine.interface import Engine
from hekat.scheme.bfv import KeyPair
from hekat.scheme.bfv.shared_products import (
    Answer,
    MatrixLayout,
    encrypt_matrix,
    multiply_masked,
    open_share,
    prepare_matrix,
)


def draw_matrices(layout: MatrixLayout, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A plain matrix up to its bound, and one to encrypt, uniform mod 2^bits."""
    (rows, inner, columns), bound = layout.shape, layout.plain_bound
    plain = rng.integers(-bound, bound, (rows, inner), endpoint=True)
    words = (inner, columns, 2) if layout.bits > 64 else (inner, columns)
    return plain, rng.integers(0, 1 << 64, words, np.uint64)


def integers_of(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Numbers mod 2^bits as Python's integers."""
    if bits <= 64:
        return numbers.astype(object)
    return numbers[..., 0].astype(object) + (numbers[..., 1].astype(object) << 64)


def exact_product(plain: np.ndarray, numbers: np.ndarray, bits: int) -> np.ndarray:
    return plain.astype(object).dot(integers_of(numbers, bits)) % (1 << bits)


def misses_of(own: np.ndarray, theirs: np.ndarray, expected: np.ndarray, bits: int) -> np.ndarray:
    """By how many units shares miss the product, in [-t/2, t/2)."""
    t = 1 << bits
    return (integers_of(own, bits) + integers_of(theirs, bits) - expected + t // 2) % t - t // 2


def share_product(
    pair: KeyPair, layout: MatrixLayout, plain: np.ndarray, numbers: np.ndarray, engine: Engine
) -> tuple[Answer, np.ndarray, np.ndarray]:
    """The answer, the share of the plain matrix's owner, and the share of the key's holder."""
    encrypted = encrypt_matrix(pair.private, numbers, layout, engine)
    answer, own = multiply_masked(prepare_matrix(plain, layout, engine), encrypted, engine)
    return answer, own, open_share(pair.private, answer, engine)
