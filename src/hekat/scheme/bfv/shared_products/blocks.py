"""Which blocks two matrices are cut into: those with the fewest bytes on the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple


class Shape(NamedTuple):
    """A plain matrix (rows, inner) times an encrypted matrix (inner, columns)."""

    rows: int
    inner: int
    columns: int


class Blocks(NamedTuple):
    """Blocks of b rows, n of the inner dimension, k columns; `layout` says how they lie in polynomials."""

    rows: int
    inner: int
    columns: int

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
    """The blocks that `fits` accepts with the fewest bytes, then the fewest products; None where it accepts none."""
    best: tuple[tuple[float, int, Blocks], Blocks] | None = None
    for inner in _block_sizes(shape.inner, degree):
        for rows in _block_sizes(shape.rows, degree // inner):
            # Blocks of equal size, the last one excepted: no larger than their number needs.
            most = min(shape.columns, degree // (inner * rows))
            blocks = Blocks(rows, inner, -(-shape.columns // -(-shape.columns // most)))
            size = blocks.inputs(shape) * input_bytes + blocks.answers(shape) * answer_bytes
            rank = (size, blocks.products(shape), blocks)
            if (best is None or rank < best[0]) and fits(blocks):
                best = rank, blocks
    return best and best[1]


def _block_sizes(length: int, most: int) -> Iterator[int]:
    """The smallest block size for each number of blocks that a length can have, none larger than `most`."""
    size = min(length, most)
    while size:
        count = -(-length // size)
        size = -(-length // count)
        yield size
        # The largest size with more blocks.
        size = -(-length // count) - 1 if count < length else 0
