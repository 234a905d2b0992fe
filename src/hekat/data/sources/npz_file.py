"""Reads a table from a NumPy .npz file, dense or sparse, without pickle."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.ids import Ids, make_ids
from hekat.data.sources.npy_file import numbered_columns, read_npy
from hekat.data.sources.source_file import readable_file
from hekat.data.table import Table
from hekat.errors import InputError

_NAMES = {
    "features": ("features", "X"),
    "labels": ("labels", "y"),
    "feature_names": ("feature_names", "names"),
    "ids": ("ids",),
}
# What scipy.sparse.save_npz writes.
_SPARSE_NAMES = ("data", "indices", "indptr", "shape", "format")
_KNOWN_NAMES = frozenset(_SPARSE_NAMES).union(*_NAMES.values())


def load_npz(path: Path, *, labels: Path | None = None, name: str | None = None) -> Table:
    """Read a table from a .npz file, dense or sparse; nothing in it is executed.

    Args:
        path: An archive of arrays `features` (or X), optional `labels` (or y), `feature_names` (or names), and `ids`;
            or a file of scipy.sparse.save_npz (CSR).
        labels: A .npy file of labels where the archive holds none.
        name: What errors call the table; the file's name if None.

    Returns:
        The table; without names, columns are called column_1, column_2, and so on.

    Raises:
        InputError: A file cannot be read so.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from hekat.data import load_npz
        >>> np.savez("clinic.npz", features=np.array([[61.0], [40.0]]), labels=np.array([1, 0]))
        >>> load_npz(Path("clinic.npz")).labels
        array([1, 0])
    """
    with readable_file(path):
        arrays = _read_arrays(path, _KNOWN_NAMES)
    features = _find(arrays, "features")
    if features is None:
        features = _sparse_features(path, arrays)
    names, found_labels, ids = (_find(arrays, wanted) for wanted in ("feature_names", "labels", "ids"))
    if labels is not None:
        if found_labels is not None:
            raise InputError(
                f"labels of {path} are given twice",
                expected="labels in the archive or in a file beside it",
                got="both",
                cure="remove labels from the site file",
            )
        found_labels = read_npy(labels)
    column_count = features.shape[1] if features.ndim == 2 else 0
    return Table(
        features,
        found_labels,
        numbered_columns(column_count, str(path)) if names is None else _as_texts(names),
        name or str(path),
        None if ids is None else make_ids(ids, name or str(path)),
    )


def load_npz_rows(path: Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """The arrays `features` (or X), of any number of axes, rows first, and `labels` (or y); None where they are not.

    Raises InputError where the file cannot be read so.
    """
    with readable_file(path):
        arrays = _read_arrays(path, frozenset(_NAMES["features"] + _NAMES["labels"]))
    features = _find(arrays, "features")
    if features is None:
        raise InputError(
            f"{path} holds no rows",
            expected="an array called features (or X), rows first",
            got=f"arrays {', '.join(sorted(arrays)) or 'of other names'}",
            cure="save with np.savez(path, features=..., labels=...)",
        )
    return features, _find(arrays, "labels")


def load_npz_ids(path: Path, *, name: str | None = None) -> Ids:
    """The array `ids` (rows,) or (rows, columns) in `path`; no other array is read. Raises InputError as `load_npz`."""
    with readable_file(path):
        ids = _read_arrays(path, _NAMES["ids"]).get("ids")
    if ids is None:
        raise InputError(
            f"{path} holds no ids",
            expected="an array called ids",
            got="none",
            cure="save with np.savez(path, features=..., ids=...)",
        )
    return make_ids(ids, name or str(path))


def _find(arrays: dict[str, npt.NDArray[Any]], wanted: str) -> npt.NDArray[Any] | None:
    return next((arrays[key] for key in _NAMES[wanted] if key in arrays), None)


def _as_texts(array: npt.NDArray[Any]) -> tuple[str, ...]:
    return tuple(str(text) for text in array.ravel().tolist())


def _sparse_features(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> Any:
    """The CSR array of the parts that scipy.sparse.save_npz writes."""
    from scipy.sparse import csr_array

    missing = [key for key in _SPARSE_NAMES[:4] if key not in arrays]
    if missing:
        raise InputError(
            f"{path} holds no features",
            expected="an array called features (or X), or what scipy.sparse.save_npz writes",
            got=f"arrays {', '.join(sorted(arrays)) or 'none'}",
            cure="save with np.savez(path, features=..., labels=..., feature_names=...)",
        )
    layout = arrays.get("format", np.array(b"csr")).tolist()
    if layout not in (b"csr", "csr"):
        raise _not_csr(path, "another layout")
    if any(arrays[key].dtype.kind not in "iu" for key in ("indices", "indptr", "shape")):
        raise _not_csr(path, "indices that are no whole numbers")
    try:
        rows = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"].tolist()))
        rows.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError):
        raise _not_csr(path, "parts that do not fit each other") from None
    return rows


def _not_csr(path: Path, got: str) -> InputError:
    return InputError(
        f"{path} holds no sparse rows",
        expected="a CSR array as scipy.sparse.save_npz writes it",
        got=got,
        cure="save it again with scipy.sparse.save_npz(path, X.tocsr())",
    )


def _read_arrays(path: Path, known: Collection[str]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the archive whose names are `known`."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            is_npy = file.read(6) == b"\x93NUMPY"
        raise _not_npz(path, "a single .npy array" if is_npy else "other or damaged bytes")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files if key in known}
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, MemoryError, NotImplementedError) as error:
        raise _not_npz(path, "Python objects" if "Object arrays" in str(error) else "damaged bytes") from None


def _not_npz(path: Path, got: str) -> InputError:
    return InputError(
        f"{path} cannot be read as .npz",
        expected="a file written by np.savez with plain arrays",
        got=got,
        cure="save it again with np.savez(path, features=..., labels=..., feature_names=...)",
    )
