"""Which blocks two matrices are cut into: those with the fewest bytes on the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class Shape(NamedTuple):
    """A plain matrix (rows, inner) times an encrypted matrix (inner, columns)."""

    rows: int
    inner: int
    columns: int


# The largest number of columns that share powers of X: polynomials in X^8 have 1024 coefficients, the least degree.
MAX_STRIDE: Final = 8


class Blocks(NamedTuple):
    """Blocks of b rows, n of the inner dimension, k columns; `layout` says how they lie in polynomials in X^stride."""

    rows: int
    inner: int
    columns: int
    stride: int = 1

    def row_count(self, shape: Shape) -> int:
        """Blocks along the rows."""
        return -(-shape.rows // self.rows)

    def inner_count(self, shape: Shape) -> int:
        """Blocks along the inner dimension."""
        return -(-shape.inner // self.inner)

    def column_count(self, shape: Shape) -> int:
        """Blocks along the columns."""
        return -(-shape.columns // self.columns)

    def inputs(self, shape: Shape) -> int:
        """Ciphertexts of the encrypted matrix."""
        return self.inner_count(shape) * self.column_count(shape)

    def answers(self, shape: Shape) -> int:
        """Ciphertexts of the product."""
        return self.row_count(shape) * self.column_count(shape)

    def products(self, shape: Shape) -> int:
        """Products of a plaintext and a ciphertext."""
        return self.row_count(shape) * self.inputs(shape)


def choose_blocks(
    degree: int, shape: Shape, *, input_bytes: float, answer_bytes: int, fits: Callable[[Blocks], bool]
) -> Blocks | None:
    """The blocks that `fits` accepts with the fewest bytes, then the fewest products, then the shortest polynomials.

    None where it accepts none.
    """
    best: tuple[tuple[float, int, int, Blocks], Blocks] | None = None
    for blocks in _possible_blocks(degree, shape):
        size = blocks.inputs(shape) * input_bytes + blocks.answers(shape) * answer_bytes
        rank = (size, blocks.products(shape), -blocks.stride, blocks)
        if (best is None or rank < best[0]) and fits(blocks):
            best = rank, blocks
    return best and best[1]


def _possible_blocks(degree: int, shape: Shape) -> Iterator[Blocks]:
    """All blocks of equal size, the last one excepted, that are no larger than their number needs."""
    stride = 1
    while stride <= min(MAX_STRIDE, shape.columns) and degree % stride == 0:
        # So many groups of columns, each of as many columns as the stride says.
        groups = -(-shape.columns // stride)
        for inner in _block_sizes(shape.inner, degree // stride):
            for rows in _block_sizes(shape.rows, degree // stride // inner):
                most = min(groups, degree // stride // (inner * rows))
                yield Blocks(rows, inner, stride * -(-groups // -(-groups // most)), stride)
        stride *= 2


def _block_sizes(length: int, most: int) -> Iterator[int]:
    """The smallest block size for each number of blocks that a length can have, none larger than `most`."""
    size = min(length, most)
    while size:
        count = -(-length // size)
        size = -(-length // count)
        yield size
        # The largest size with more blocks.
        size = -(-length // count) - 1 if count < length else 0
