"""Features: a dense array or sparse rows of float64, checked and closed to writing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from typing_extensions import TypeIs

FloatArray = npt.NDArray[np.float64]
Features: TypeAlias = "FloatArray | csr_array"

# Every column has a name, a weight and a place in the schema: more of them is a mistake in the file.
MAX_COLUMNS = 2**22
# 1 GiB of float64.
MAX_DENSE_CELLS = 2**27


def is_dense(features: Features) -> TypeIs[FloatArray]:
    """Whether features are a NumPy array.

    Args:
        features: A table's features.

    Returns:
        False for a scipy.sparse.csr_array.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import is_dense
        >>> is_dense(np.array([[61.0]]))
        True
    """
    return isinstance(features, np.ndarray)


def checked_features(values: Any, name: str) -> Features:
    """`values` as float64, read-only: C-contiguous, or CSR in canonical form. Raises InputError; names no value."""
    what = f"features of {name}"
    features = _as_sparse(values, what) if hasattr(values, "tocsr") else as_numbers(values, what)
    if features.ndim != 2:
        raise InputError(
            f"{what} are not a table",
            expected="shape (rows, columns)",
            got=f"shape {features.shape}",
            cure="give a two-dimensional array, one row for each record",
        )
    check_column_count(features.shape[1], name)
    return read_only(features) if is_dense(features) else _read_only_rows(features)


def check_column_count(count: int, name: str) -> None:
    """Raise InputError beyond MAX_COLUMNS."""
    if count > MAX_COLUMNS:
        raise InputError(
            f"{name} has too many columns",
            expected=f"at most {MAX_COLUMNS}",
            got=str(count),
            cure="hash or select columns before training",
        )


def as_numbers(values: Any, what: str) -> FloatArray:
    """`values` as a float64 array. Raises InputError where they are not real numbers; never names a value."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{what} have rows of unequal lengths", expected="an array of numbers") from None
    _check_numeric(array.dtype, what)
    return np.ascontiguousarray(array, dtype=np.float64)


def to_dense(features: Features, name: str) -> FloatArray:
    """`features` with every zero written out. Raises InputError beyond MAX_DENSE_CELLS."""
    if is_dense(features):
        return features
    row_count, column_count = features.shape
    check_dense_size(row_count, column_count, name)
    return np.asarray(features.toarray(), dtype=np.float64)


def check_dense_size(row_count: int, column_count: int, name: str) -> None:
    """Raise InputError beyond MAX_DENSE_CELLS."""
    if row_count * column_count > MAX_DENSE_CELLS:
        raise InputError(
            f"{name} is too large to hold densely",
            expected=f"at most 2^{MAX_DENSE_CELLS.bit_length() - 1} cells",
            got=f"{row_count:,} rows of {column_count} columns",
            cure="set sparse = true in the job: rows then stay sparse at every party",
        )


def to_sparse(features: Features) -> csr_array:
    """`features` as sparse rows; zeros are left out."""
    from scipy.sparse import csr_array

    return csr_array(features)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view that refuses writes; the caller's own array stays as it was."""
    view = array.view()
    view.setflags(write=False)
    return view


def _as_sparse(values: Any, what: str) -> csr_array:
    from scipy.sparse import csr_array

    _check_numeric(values.dtype, what)
    try:
        if hasattr(values, "check_format"):
            values.check_format(full_check=True)
        rows = csr_array(values, dtype=np.float64)
    except (ValueError, TypeError):
        raise InputError(
            f"{what} are not well-formed sparse rows",
            expected="indices and indptr that fit the shape",
            got="others",
            cure="build the matrix again with scipy.sparse, and convert it with .tocsr()",
        ) from None
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _read_only_rows(rows: csr_array) -> csr_array:
    from scipy.sparse import csr_array

    parts = tuple(read_only(part) for part in (rows.data, rows.indices, rows.indptr))
    return csr_array(parts, shape=rows.shape)


def _check_numeric(dtype: np.dtype[Any], what: str) -> None:
    if dtype.kind not in "biuf":
        raise InputError(
            f"{what} are not numeric",
            expected="real numbers",
            got=f"an array of {dtype}",
            cure="turn texts, dates and categories into numbers, or leave those columns out",
        )
