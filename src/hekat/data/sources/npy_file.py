"""Reads single NumPy arrays from .npy files, without pickle: features and labels side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.features import check_column_count
from hekat.data.ids import Ids, make_ids
from hekat.data.sources.source_file import readable_file
from hekat.data.table import Table
from hekat.errors import InputError


def load_npy(features: Path, *, labels: Path | None = None, ids: Path | None = None, name: str | None = None) -> Table:
    """Read a table from single .npy files; nothing in them is executed.

    Args:
        features: The file of the features (rows, columns).
        labels: The file of the labels (rows,).
        ids: The file of the ids, (rows,) or (rows, columns).
        name: What errors call the table; the file's name if None.

    Returns:
        The table, with columns called column_1 and on.

    Raises:
        InputError: A file cannot be read so.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from hekat.data import load_npy
        >>> np.save("features.npy", np.array([[61.0, 1.0], [40.0, 0.0]]))
        >>> load_npy(Path("features.npy")).feature_names
        ('column_1', 'column_2')
    """
    array = read_npy(features)
    return Table(
        array,
        None if labels is None else read_npy(labels),
        numbered_columns(array.shape[1] if array.ndim == 2 else 0, str(features)),
        name or str(features),
        None if ids is None else load_npy_ids(ids, name=name or str(features)),
    )


def load_npy_ids(path: Path, *, name: str | None = None) -> Ids:
    """The ids in `path`, an array (rows,) or (rows, columns). Raises InputError; nothing in it is executed."""
    return make_ids(read_npy(path), name or str(path))


def numbered_columns(count: int, name: str) -> tuple[str, ...]:
    """column_1 to column_COUNT, for arrays that come without names. Raises InputError for too many."""
    check_column_count(count, name)
    return tuple(f"column_{number}" for number in range(1, count + 1))


def read_npy(path: Path) -> npt.NDArray[Any]:
    """The array in a .npy file. Raises InputError for anything else."""
    with readable_file(path):
        try:
            loaded = np.load(path, allow_pickle=False)
        except (ValueError, EOFError, MemoryError) as error:
            raise _not_npy(path, "Python objects" if "Object arrays" in str(error) else "other bytes") from None
    if not isinstance(loaded, np.ndarray):
        loaded.close()
        raise _not_npy(path, "a .npz archive")
    return loaded


def _not_npy(path: Path, got: str) -> InputError:
    return InputError(
        f"{path} cannot be read as .npy",
        expected="an array written by np.save",
        got=got,
        cure='save it again with np.save(path, array), or say source = "npz" for an archive',
    )
