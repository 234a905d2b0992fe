"""Data frames as a party's columns: their numbers, and the ids and the index that say which record each row is.

Columns are read as `hekat.data.read_dataframe` reads them. What pandas alone has, an index and `iloc`, is known by its
names, so that pandas is no dependency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Ids, is_dataframe, make_ids, read_dataframe
from hekat.data.raw_table import TextColumn
from hekat.errors import InputError
from hekat.first_few import first_few

FloatArray = npt.NDArray[np.float64]

INDEX = "index"
"""The name that stands for a frame's index where it says by what rows are matched."""
IdName = str | Mapping[str, str] | None
"""The column with the ids of rows: at every party, or by party; INDEX for the frame's index; None: no such column."""
_SHOWN = 5


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
    return tuple(str(name) for name in getattr(frame, "column_names", None) or frame.columns)


def take_columns(frame: Any, positions: Sequence[int], party: str) -> Any:
    """A frame of the columns at `positions` alone; a pandas frame keeps its index. Raises InputError for names that
    repeat."""
    import narwhals as nw

    _check_names(frame, party)
    held = nw.from_native(frame, eager_only=True)
    return held.select([held.columns[position] for position in positions]).to_native()


def _check_names(frame: Any, party: str) -> None:
    names = column_names(frame)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"two columns of {party} have the same name",
            expected="distinct names",
            got=", ".join(map(repr, repeated[:_SHOWN])),
            cure="rename one of them",
        )


def take_ids(values: Any, party: str, name: str) -> tuple[Ids, Any]:
    """The ids of a frame's rows, by its column `name` or its index, and the frame without that column.

    Raises InputError for what is no frame, for a column that is missing, and for ids that `make_ids` refuses.
    """
    if not is_dataframe(values):
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
            got=f"columns {first_of(names)}",
            cure=f"correct id, or say which column it is at each party: id={{{party!r}: ...}}",
        )
    if name == INDEX and index_of(values) is not None:
        raise InputError(
            f"{party} has an index, and a column 'index' too",
            expected="one of the two, for id='index'",
            got="both",
            cure="rename the column, and name it in id where it has the ids",
        )
    import narwhals as nw

    _check_names(values, party)
    place = names.index(name)
    ids = make_ids(np.asarray(nw.from_native(values, eager_only=True)[:, place].to_numpy()), party)
    return ids, take_columns(values, [number for number in range(len(names)) if number != place], party)


def numbers_of(frame: Any, party: str) -> FloatArray:
    """The columns of a frame as float64 (rows, columns), with NaN where a value is missing.

    Raises InputError that names all columns of texts, or the first one of dates, of other values or of whole numbers
    that float64 does not hold.
    """
    _check_names(frame, party)
    read = read_dataframe(frame, party)
    columns = {name: values for name, values in read.columns.items() if not isinstance(values, TextColumn)}
    texts = [name for name in read.names if name not in columns]
    if texts:
        raise InputError(
            f"columns of {party} hold no numbers",
            expected="numbers in every column that is trained on",
            got=first_of(texts),
            cure="name the column with the ids of rows: id='COLUMN'; encode the others (pandas.get_dummies, "
            "scikit-learn's OneHotEncoder) or leave them out",
        )
    return np.column_stack(list(columns.values())) if columns else np.zeros((read.row_count, 0))


def check_same_index(frames: Mapping[str, Any]) -> None:
    """Raise InputError where pandas frames of several parties, `frames` by party, do not have the same index."""
    indexes = {party: index_of(values) for party, values in frames.items() if is_dataframe(values)}
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
        got=f"{len(labels):,} labels for {len(rows):,} rows",
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


def first_of(names: Sequence[str]) -> str:
    """The first names of columns, and how many more there are."""
    return first_few([*map(repr, names)], _SHOWN)


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
