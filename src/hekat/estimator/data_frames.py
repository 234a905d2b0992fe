"""Data frames as a party's columns: their numbers, and the ids and the index that say which record each row is.

Frames are known by what they can do, so that pandas and polars are no dependencies: `columns`, `frame[name]` and
`to_numpy`; a pandas frame or series has an index and `iloc` besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Ids, make_ids
from hekat.errors import InputError

FloatArray = npt.NDArray[np.float64]

INDEX = "index"
"""The name that stands for a frame's index where it says by what rows are matched."""
IdName = str | Mapping[str, str] | None
"""The column with the ids of rows: at every party, or by party; INDEX for the frame's index; None: no such column."""
_SHOWN = 5


def is_frame(values: Any) -> bool:
    """Whether `values` is a data frame."""
    return hasattr(values, "columns") and hasattr(values, "to_numpy") and hasattr(values, "__getitem__")


def index_of(values: Any) -> Any:
    """The index of a pandas frame or series; None for everything else."""
    return values.index if hasattr(values, "iloc") else None


def id_name_at(party: str, name: IdName) -> str | None:
    """The name of the id column of `party`. Raises InputError where names are given by party, and none for this one."""
    if not isinstance(name, Mapping):
        return name
    if party not in name:
        raise InputError(
            f"the parameter id names no column of {party}",
            expected=f"a name for {party!r}, as for {', '.join(map(repr, name))}",
            got="none",
            cure=f"add {party!r} to id, or give one name for all parties",
        )
    return str(name[party])


def column_names(frame: Any) -> tuple[str, ...]:
    """The names of all columns of a frame, as texts."""
    return tuple(str(name) for name in frame.columns)


def take_ids(values: Any, party: str, name: str) -> tuple[Ids, Any]:
    """The ids of a frame's rows, by its column `name` or its index, and the frame without that column.

    Raises InputError for what is no frame, for a column that is missing, and for ids that `make_ids` refuses.
    """
    if not is_frame(values):
        raise InputError(
            f"{party} has no column {name!r}",
            expected="a data frame, whose columns have names, where the parameter id is set",
            got=type(values).__name__,
            cure="give a pandas or polars frame, or a hekat.data.Table with ids",
        )
    names = column_names(values)
    if name == INDEX and name not in names:
        return make_ids(_index_ids(values, party), party), values
    if name not in names:
        raise InputError(
            f"{party} has no column {name!r}",
            expected="the parameter id to name a column of every party, or 'index'",
            got=f"columns {_first_of(names)}",
            cure=f"correct id, or say which column it is at each party: id={{{party!r}: ...}}",
        )
    if name == INDEX and index_of(values) is not None:
        raise InputError(
            f"{party} has an index, and a column 'index' too",
            expected="one of the two, for id='index'",
            got="both",
            cure="rename the column, and name it in id where it has the ids",
        )
    ids = make_ids(np.asarray(values[values.columns[names.index(name)]].to_numpy()), party)
    return ids, values[[column for column in values.columns if str(column) != name]]


def numbers_of(frame: Any, party: str) -> FloatArray:
    """The columns of a frame as float64 (rows, columns), with NaN where a value is missing.

    Raises InputError that names all columns that hold no numbers.
    """
    names = column_names(frame)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"two columns of {party} have the same name",
            expected="distinct names",
            got=", ".join(map(repr, repeated[:_SHOWN])),
            cure="rename one of them",
        )
    columns = {str(name): _column_numbers(frame[name]) for name in frame.columns}
    texts = [name for name, values in columns.items() if values is None]
    if texts:
        raise InputError(
            f"columns of {party} hold no numbers",
            expected="numbers in every column that is trained on",
            got=", ".join(map(repr, texts[:_SHOWN]))
            + (f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""),
            cure="name the column with the ids of rows: id='COLUMN'; encode the others (pandas.get_dummies, "
            "scikit-learn's OneHotEncoder) or leave them out",
        )
    filled = [values for values in columns.values() if values is not None]
    return np.column_stack(filled) if filled else np.zeros((len(frame), 0))


def check_same_index(frames: Mapping[str, Any]) -> None:
    """Raise InputError where pandas frames of several parties, `frames` by party, do not have the same index."""
    indexes = {party: index_of(values) for party, values in frames.items() if is_frame(values)}
    indexes = {party: index for party, index in indexes.items() if index is not None}
    first = next(iter(indexes), None)
    for party, index in indexes.items():
        if first is not None and not index.equals(indexes[first]):
            raise InputError(
                f"the data frames of {first} and {party} have different indexes",
                expected="the same index in the same order, where rows are matched row by row",
                got="other labels, or another order",
                cure="say by what rows are matched: id='COLUMN', or id='index'; where row by row is right, call "
                "reset_index(drop=True) on every frame",
            )


def align_labels(y: Any, frame: Any, party: str) -> Any:
    """`y` in the order of `frame`'s rows, where both have an index; else `y` as it is.

    Raises InputError where the two do not have the same index labels, each once.
    """
    labels, rows = index_of(y), index_of(frame)
    if labels is None or rows is None or labels.equals(rows):
        return y
    if len(labels) == len(rows) and labels.is_unique and rows.is_unique and labels.isin(rows).all():
        return y.loc[rows]
    raise InputError(
        f"y and the data frame of {party} have different indexes",
        expected="the same index labels, each once, in any order",
        got=f"{len(labels)} labels for {len(rows)} rows",
        cure="give y.loc[frame.index]; where they are aligned row by row, give y.to_numpy()",
    )


def plain_labels(labels: Any, party: str) -> npt.NDArray[Any]:
    """Labels as an array of numbers or of texts, in one column. Raises InputError for one that is missing."""
    array = np.asarray(labels)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.dtype.kind == "O":
        values = array.reshape(-1).tolist()
        is_missing = any(map(_is_gap, values))
        is_plain = all(isinstance(one, str) for one in values) or all(isinstance(one, int | float) for one in values)
        array = np.array(values).reshape(array.shape) if is_plain and not is_missing else array
    else:
        is_missing = array.dtype.kind == "f" and not np.isfinite(array).all()
    if is_missing:
        raise InputError(
            f"labels of {party} are missing, or infinite",
            expected="a label for each row",
            got="None, NaN or infinity among them",
            cure="leave out rows without a label",
        )
    return array


def _is_gap(value: object) -> bool:
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def _first_of(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN]))
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _index_ids(frame: Any, party: str) -> npt.NDArray[Any]:
    index = index_of(frame)
    if index is None or getattr(index, "nlevels", 1) > 1:
        raise InputError(
            f"the rows of {party} have no index to match by",
            expected="a pandas frame with an index of one level, for id='index'",
            got="no index" if index is None else "an index of several levels",
            cure="name the column with the ids: id='COLUMN'",
        )
    return np.asarray(index.to_numpy())


def _column_numbers(column: Any) -> FloatArray | None:
    """One column as float64 (rows,); None where it holds no numbers."""
    values = np.asarray(column.to_numpy())
    if values.dtype.kind == "O" and getattr(column.dtype, "kind", "O") in "biuf":
        # pandas' own types for numbers with missing values.
        values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if values.dtype.kind == "O" and set(map(type, values.tolist())) <= {bool, int, float}:
        values = values.astype(np.float64)
    return values.astype(np.float64) if values.dtype.kind in "biuf" and values.ndim == 1 else None
