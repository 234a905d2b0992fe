"""Reads a table from a CSV file: a header of column names, then one row of numbers for each record."""

from __future__ import annotations

import csv
import difflib
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from hekat.data.source_file import readable_file
from hekat.data.table import Table
from hekat.errors import InputError


def load_csv(path: Path, *, label: str | None = None, ignore: Sequence[str] = (), name: str | None = None) -> Table:
    """The table in `path`: all columns but `label` and `ignore` are features; labels are texts as they stand there.

    UTF-8, commas, double quotes; blank lines are passed over. Raises InputError with line and column, never the cell.
    """
    with readable_file(path), path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        records = _records(path, reader)
        header = next(records, None)
        if header is None:
            raise InputError(f"{path} has no header", expected="column names in the first line", got="blank lines")
        columns = _choose_columns(path, header[1], label, ignore)
        rows = _Rows(path, columns)
        for line, cells in records:
            rows.add(line, cells)
    features = np.frombuffer(rows.numbers, dtype=np.float64).reshape(-1, len(columns.features))
    labels = None if label is None else np.array(rows.labels, dtype=np.str_)
    return Table(features, labels, columns.names, name or str(path))


@dataclass(frozen=True)
class _Columns:
    count: int
    features: tuple[int, ...]
    names: tuple[str, ...]
    label: int | None


@dataclass
class _Rows:
    """The rows read so far; numbers in one flat array, since a list of Python floats takes four times the memory."""

    path: Path
    columns: _Columns
    numbers: array[float] = field(default_factory=lambda: array("d"))
    labels: list[str] = field(default_factory=list)

    def add(self, line: int, cells: list[str]) -> None:
        columns = self.columns
        if len(cells) != columns.count:
            raise InputError(
                f"{self.path}, line {line} has another number of cells than the header",
                expected=str(columns.count),
                got=str(len(cells)),
                cure="correct that line; a cell that holds a comma needs double quotes",
            )
        chosen = [cells[index] for index in columns.features]
        try:
            numbers = [float(cell) for cell in chosen]
        except ValueError:
            self._refuse(line, chosen)
        if not all(map(math.isfinite, numbers)) or any("_" in cell for cell in chosen):
            self._refuse(line, chosen)
        if columns.label is not None:
            label = cells[columns.label].strip()
            if not label:
                raise InputError(
                    f"{self.path}, line {line} has no label",
                    expected="a label in every row",
                    got="an empty cell",
                    cure="fill it in or remove the line",
                )
            self.labels.append(label)
        self.numbers.extend(numbers)

    def _refuse(self, line: int, cells: list[str]) -> NoReturn:
        """Raise for the first cell that is no finite number."""
        position, got = next((i, what) for i, cell in enumerate(cells) if (what := _describe_bad_cell(cell)))
        column = self.columns.names[position]
        raise InputError(
            f"{self.path}, line {line}, column {column!r} is not a finite number",
            expected="a number such as 12, -0.5 or 1e-3",
            got=got,
            cure="correct the cell, or name the column under ignore (or label) in the site file",
        )


def _describe_bad_cell(cell: str) -> str:
    """What is wrong with a cell, without its content; empty for a finite number."""
    if not cell.strip():
        return "an empty cell"
    try:
        value = float(cell)
    except ValueError:
        is_decimal_comma = cell.count(",") == 1 and not _describe_bad_cell(cell.replace(",", "."))
        return "a number with a decimal comma" if is_decimal_comma else "a text"
    if "_" in cell:  # float() takes 1_000, as Python source does; a data file that holds it is a mistake
        return "a text"
    if math.isnan(value):
        return "NaN"
    return "an infinite value" if math.isinf(value) else ""


def _records(path: Path, reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """(last line of the record, its cells) for every record that is not blank."""
    line_of = reader
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"{path}, line {line_of.line_num} is not CSV",  # type: ignore[attr-defined]
                expected="cells separated by commas, texts with commas in double quotes",
                got=str(error),
                cure="correct that line",
            ) from None
        if cells:
            yield line_of.line_num, cells  # type: ignore[attr-defined]


def _choose_columns(path: Path, header: list[str], label: str | None, ignore: Sequence[str]) -> _Columns:
    names = [cell.strip() for cell in header]
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise InputError(
            f"{path} is not separated by commas",
            expected="commas between cells",
            got="semicolons or tabs",
            cure="save the file with commas",
        )
    if all(not _describe_bad_cell(name) for name in names):
        raise InputError(
            f"{path} has no header",
            expected="column names in the first line",
            got="numbers",
            cure="put a line of column names on top",
        )
    for number, name in enumerate(names, start=1):
        if not name or names.index(name) != number - 1:
            raise InputError(
                f"{path}: column {number} of the header {'repeats a name' if name else 'has no name'}",
                expected="a name of its own for each column",
                got=repr(name) if name else "an empty cell",
                cure="correct the header",
            )
    for role, wanted in (("label", [label] if label is not None else []), ("ignore", list(ignore))):
        for name in wanted:
            if name not in names:
                raise _no_such_column(path, role, name, names)
    if label is not None and label in ignore:
        raise InputError(f"{path}: column {label!r} is both label and ignored", cure="remove it from one of them")
    chosen = tuple(index for index, name in enumerate(names) if name != label and name not in ignore)
    if not chosen:
        raise InputError(f"{path} has no feature columns", expected="at least one besides label and ignore", got="none")
    label_index = names.index(label) if label is not None else None
    return _Columns(len(names), chosen, tuple(names[index] for index in chosen), label_index)


def _no_such_column(path: Path, role: str, name: str, names: list[str]) -> InputError:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return InputError(
        f"{path} has no column {name!r}",
        expected=f"one of {shown}",
        got=f"{role} = {name!r}",
        cure=f"did you mean {close[0]!r}?" if close else f"correct {role} in the site file",
    )
