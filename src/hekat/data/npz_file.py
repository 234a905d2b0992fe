"""Reads a table from a NumPy .npz file, without pickle."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.source_file import readable_file
from hekat.data.table import Table
from hekat.errors import InputError

_NAMES = {"features": ("features", "X"), "labels": ("labels", "y"), "feature_names": ("feature_names", "names")}


def load_npz(path: Path, *, name: str | None = None) -> Table:
    """The table in `path`: arrays `features` (or X), optional `labels` (or y), optional `feature_names` (or names).

    Without names, columns are called column_1, column_2, and so on. Raises InputError; nothing in the file is executed.
    """
    with readable_file(path):
        arrays = _read_arrays(path)
    features = _find(arrays, "features")
    if features is None:
        raise InputError(
            f"{path} holds no features",
            expected="an array called features (or X)",
            got=f"arrays {', '.join(sorted(arrays)) or 'none'}",
            cure="save with np.savez(path, features=..., labels=..., feature_names=...)",
        )
    names = _find(arrays, "feature_names")
    column_count = features.shape[1] if features.ndim == 2 else 0
    if names is None:
        feature_names = tuple(f"column_{number}" for number in range(1, column_count + 1))
    else:
        feature_names = tuple(str(text) for text in names.ravel().tolist())
    return Table(features, _find(arrays, "labels"), feature_names, name or str(path))


def _find(arrays: dict[str, npt.NDArray[Any]], wanted: str) -> npt.NDArray[Any] | None:
    return next((arrays[key] for key in _NAMES[wanted] if key in arrays), None)


def _read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    known = {key for keys in _NAMES.values() for key in keys}
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
