"""Plain integer matrices that meet ciphertexts, dense or sparse by rows: exponents of some rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from hekat.engine.interface import BoolArray, IndexArray
from hekat.engine.limbs import LimbArray
from hekat.engine.sparse_exponents import SparseExponents
from hekat.scheme.paillier.keys.key_pair import PublicKey
from hekat.scheme.paillier.plain_operand import signed_magnitudes

# At least so many rows share the table of each column's ciphertext; a longer product runs in parts of so many rows.
MIN_PART_ROWS: Final = 64
PART_TERMS: Final = 1 << 20

Exponents = tuple[LimbArray | SparseExponents, BoolArray | None]


class PlainMatrix(Protocol):
    """A matrix of signed integers within the plaintext space."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def term_count(self) -> int:
        """Entries that are stored."""
        ...

    def exponents(self, rows: slice) -> Exponents:
        """These rows in the form that `mod_multi_exp` takes: one row for each result."""
        ...


@dataclass(frozen=True, eq=False)
class DenseMatrix:
    """Magnitudes (r, k, limbs) and signs (r, k)."""

    magnitudes: LimbArray
    negative: BoolArray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.negative.shape

    @property
    def term_count(self) -> int:
        return self.negative.size

    def exponents(self, rows: slice) -> Exponents:
        negative = self.negative[rows]
        signs = np.ascontiguousarray(negative.T) if negative.any() else None
        return np.ascontiguousarray(self.magnitudes[rows].transpose(1, 0, 2)), signs


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A matrix by rows (CSR): magnitudes (entries, limbs) and signs, their columns, and where rows begin."""

    shape: tuple[int, ...]
    magnitudes: LimbArray
    negative: BoolArray
    columns: IndexArray
    row_offsets: IndexArray

    @property
    def term_count(self) -> int:
        return self.negative.size

    def exponents(self, rows: slice) -> Exponents:
        offsets = self.row_offsets[rows.start : rows.stop + 1]
        part = slice(int(offsets[0]), int(offsets[-1]))
        return SparseExponents(
            self.magnitudes[part], self.columns[part], offsets - offsets[0], self.negative[part]
        ), None


def plain_matrix(plain: Any, public: PublicKey) -> PlainMatrix:
    """`plain` as magnitudes and signs: a sparse matrix of SciPy's kind (CSR, or with a `tocsr`), or anything that
    becomes an array.

    Raises BoundError for a magnitude beyond the plaintext space, InputError for what holds no integers.
    """
    by_rows = plain.tocsr() if hasattr(plain, "tocsr") else plain
    if all(hasattr(by_rows, name) for name in ("indptr", "indices", "data", "shape")):
        magnitudes, negative = signed_magnitudes(by_rows.data, public)
        columns, offsets = (np.asarray(part).astype(np.int64) for part in (by_rows.indices, by_rows.indptr))
        return SparseMatrix(tuple(by_rows.shape), magnitudes, negative, columns, offsets)
    return DenseMatrix(*signed_magnitudes(plain, public))


def part_rows(matrix: PlainMatrix) -> int:
    """Rows of a part, after which the product reports progress."""
    terms_per_row = max(1, matrix.term_count // max(1, matrix.shape[0]))
    return max(MIN_PART_ROWS, PART_TERMS // terms_per_row)
