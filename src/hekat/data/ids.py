"""Ids: which record each row is, as texts in one or several columns, for the holder of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.features import read_only
from hekat.data.id_texts import IdKind, read_id_texts
from hekat.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Ids:
    """The ids of rows, made by `make_ids`: no two rows alike. No error, note or repr shows one.

    Two parties' ids are the same where their texts are, column by column, whatever the columns are called.

    Attributes:
        columns: Read-only arrays (rows,) of Python texts.
        names: What each column is called.
        kinds: What the source of each column held: texts, whole numbers or dates.

    Examples:
        >>> from hekat.data import make_ids
        >>> make_ids([7, 12, 31], "clinic")
        Ids(3 rows, whole numbers)
    """

    columns: tuple[npt.NDArray[np.object_], ...]
    names: tuple[str, ...]
    kinds: tuple[IdKind, ...]

    def __len__(self) -> int:
        return int(self.columns[0].size)

    def __repr__(self) -> str:
        return f"Ids({len(self):,} rows, {', '.join(self.kinds)})"

    def take(self, rows: npt.NDArray[Any]) -> Ids:
        """The ids of some of the rows.

        Args:
            rows: Row numbers, in the order wanted.

        Returns:
            The ids of these rows.

        Raises:
            InputError: A row is taken twice.
        """
        is_taken = np.zeros(len(self), dtype=np.bool_)
        is_taken[rows] = True
        columns = tuple(read_only(column[rows]) for column in self.columns)
        repeated = int(columns[0].size - np.count_nonzero(is_taken))
        if repeated:
            raise InputError(
                "a row with an id is taken twice",
                expected="each row once",
                got=f"{repeated:,} rows that were taken before",
                cure="take each row once, or take from a table without ids",
            )
        return replace(self, columns=columns)

    def to_rows(self) -> list[tuple[str, ...]]:
        """The ids as tuples of texts.

        Returns:
            For each row its texts, one for each column.
        """
        return list(zip(*(column.tolist() for column in self.columns), strict=True))

    def to_bytes(self) -> list[bytes]:
        """The ids as bytes that are equal only for equal ids.

        Returns:
            For each row, of each column in turn: the length in 4 bytes, then the UTF-8.
        """
        encoded = ([_with_length(text.encode()) for text in column.tolist()] for column in self.columns)
        return [b"".join(parts) for parts in zip(*encoded, strict=True)]

    def describe(self) -> str:
        """What kinds of ids these are and what they match, without any of them: for the notes of a report.

        Returns:
            One sentence.
        """
        described = f"ids are {' and '.join(dict.fromkeys(self.kinds))}"
        if "whole numbers" in self.kinds:
            described += ': a whole number matches the text of its digits, 7 matches "7" and not "007"'
        pairs = zip(self.columns, self.kinds, strict=True)
        if any(kind == "texts" and any(map(_is_padded, column.tolist())) for column, kind in pairs):
            described += "; some texts are digits with zeros in front, which no whole number matches"
        return described


def make_ids(values: Any, name: str) -> Ids:
    """The ids of a table: texts, whole numbers or dates, each column all of one kind (`hekat.data.id_texts`).

    Args:
        values: A sequence, columns by name, or an array (rows, columns).
        name: What errors call the table.

    Returns:
        The ids as texts.

    Raises:
        InputError: A value is of another kind, a row has no id, or rows are alike; the message has counts and row
            numbers and never an id.

    Examples:
        >>> from hekat.data import make_ids
        >>> make_ids({"name": ["ann", "bob"], "born": [1980, 1975]}, "clinic").to_rows()
        [('ann', '1980'), ('bob', '1975')]
    """
    if isinstance(values, Ids):
        return values
    named = _named_columns(values, name)
    read = [read_id_texts(column, f"ids of {name}") for column in named.values()]
    ids = Ids(tuple(read_only(texts) for texts, _ in read), tuple(named), tuple(kind for _, kind in read))
    sizes = {column.size for column in ids.columns}
    if len(sizes) != 1:
        raise InputError(
            f"id columns of {name} do not fit each other",
            expected="as many ids in one as in the other",
            got=" and ".join(str(size) for size in sorted(sizes)) or "no column",
            cure="give one id for every row in each of them",
        )
    _check_distinct(ids, name)
    return ids


def _named_columns(values: Any, name: str) -> dict[str, Sequence[Any] | npt.NDArray[Any]]:
    if isinstance(values, Mapping):
        return {str(key): column for key, column in values.items()}
    dimensions = getattr(values, "ndim", 1)
    if isinstance(values, np.ndarray) and dimensions == 2 and values.shape[1]:
        return {f"id_{number + 1}": values[:, number] for number in range(values.shape[1])}
    if isinstance(values, str | bytes) or dimensions != 1 or not hasattr(values, "__getitem__"):
        raise InputError(
            f"ids of {name} are no column",
            expected="a list or array (rows,), an array (rows, columns), or columns by their names",
            got=f"shape {values.shape}" if hasattr(values, "shape") else type(values).__name__,
            cure="give one id for every row",
        )
    return {"id": values}


def _is_padded(text: str) -> bool:
    return text[0] == "0" and len(text) > 1 and text.isdecimal()


def _check_distinct(ids: Ids, name: str) -> None:
    columns = [column.tolist() for column in ids.columns]
    repeated = len(ids) - len(set(columns[0] if len(columns) == 1 else zip(*columns, strict=True)))
    if repeated:
        raise InputError(
            f"{name} has ids that repeat",
            expected="a different id in each row",
            got=f"{repeated:,} rows with an id that an earlier row has",
            cure="remove rows that are there twice, or name another id column, or several, in the site file",
        )


def _with_length(encoded: bytes) -> bytes:
    return len(encoded).to_bytes(4, "little") + encoded
