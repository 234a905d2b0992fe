"""Exponents of a multi-exponentiation when most of them are zero: only the others are kept, result by result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LimbArray
from hekat.errors import InputError


@dataclass(frozen=True, eq=False)
class SparseExponents:
    """A sparse matrix by rows (CSR), one row per result, for `mod_multi_exp`.

    Result j is the product of a[bases[i]]^(+-limbs[i]) over the entries i from offsets[j] to offsets[j + 1] - 1, in
    any order; where a base comes several times in a row its powers multiply. Shapes: limbs (entries, e_limbs) uint64,
    bases (entries,) int64, offsets (results + 1,) int64, negative (entries,) bool or None, for exponents taken with
    a minus sign. Raises InputError for other shapes or types and for offsets that do not run from 0 to entries.
    """

    limbs: LimbArray
    bases: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    negative: npt.NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if not _is_array(self.limbs, np.uint64, 2) or self.limbs.shape[1] < 1:
            raise _refuse("limbs", "an array of uint64, shape (entries, limbs)", self.limbs)
        shape = self.limbs.shape[:1]
        if not _is_array(self.bases, np.int64, 1) or self.bases.shape != shape:
            raise _refuse("bases", f"an array of int64, shape {shape}", self.bases)
        if self.negative is not None and (not _is_array(self.negative, np.bool_, 1) or self.negative.shape != shape):
            raise _refuse("signs", f"an array of bool, shape {shape}", self.negative)
        if not _is_array(self.offsets, np.int64, 1) or self.offsets.size < 1:
            raise _refuse("offsets", "an array of int64, shape (results + 1,)", self.offsets)
        if self.offsets[0] != 0 or self.offsets[-1] != shape[0] or (np.diff(self.offsets) < 0).any():
            raise InputError(
                "sparse exponents refused: their offsets do not cut up the entries",
                expected=f"offsets from 0 to {shape[0]} that never fall",
                got=f"{self.offsets.size} offsets from {self.offsets[0]} to {self.offsets[-1]}",
            )

    @property
    def result_count(self) -> int:
        """Rows, empty ones too."""
        return self.offsets.size - 1

    def __repr__(self) -> str:
        return f"SparseExponents({self.bases.size} entries, {self.result_count} results)"


def _is_array(value: Any, dtype: type[np.generic], ndim: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == ndim


def _refuse(what: str, expected: str, got: Any) -> InputError:
    found = f"shape {got.shape} of {got.dtype}" if isinstance(got, np.ndarray) else type(got).__name__
    return InputError(f"sparse exponents refused: their {what} have the wrong layout", expected=expected, got=found)
