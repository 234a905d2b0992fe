"""Gathers the rows of a CSV file into columns of numbers, of texts, labels and ids."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path

import numpy as np

from hekat.data.columns.choose import ChosenColumns
from hekat.data.columns.specs import DEFAULT_MARKS
from hekat.data.ids import make_ids
from hekat.data.number_text import read_number
from hekat.data.raw_table import RawColumn, RawTable, TextColumn
from hekat.data.sources.csv_blocks import PlainBlock
from hekat.data.sources.csv_dialect import CsvDialect
from hekat.data.thousands import ThousandsSigns, have_thousands
from hekat.errors import InputError

_NOT_NUMBERS = frozenset(DEFAULT_MARKS)
# Rows whose numbers are read at once: a call for each row takes longer than the numbers themselves.
_BLOCK_ROWS = 512


class CsvRows:
    """The rows read so far: features, labels and ids as `chosen` says; columns named in `texts` hold texts.

    Numbers lie in one flat array, since a list of Python floats takes four times the memory. A cell that is no number
    counts as empty there, and `found_texts` names its column: read the file again with that column among `texts`.
    """

    def __init__(
        self, path: Path, dialect: CsvDialect, names: Sequence[str], chosen: ChosenColumns, texts: Collection[str]
    ) -> None:
        self._path, self._dialect, self._chosen = path, dialect, chosen
        self._count = len(names)
        self._numeric_marks = frozenset(mark for mark in dialect.missing if _is_finite(dialect.to_point(mark)))
        self.found_texts: set[str] = set()
        position = {name: number for number, name in enumerate(names)}
        self._number_names = [name for name in chosen.features if name not in texts]
        self._number_positions = [position[name] for name in self._number_names]
        self._numbers: array[float] = array("d")
        self._pick_numbers = _picker(self._number_positions)
        self._thousands = ThousandsSigns(len(self._number_names), dialect.decimal, dialect.missing)
        # Texts as numbers in the order of their first appearance, -1 for an empty cell.
        self._codes = {name: array("q") for name in chosen.features if name in texts}
        self._texts: dict[str, dict[str, int]] = {name: {} for name in self._codes}
        self._text_positions = {name: position[name] for name in self._codes}
        self._label = None if chosen.label is None else position[chosen.label]
        self._labels: list[str] = []
        self._ids: dict[str, list[str]] = {name: [] for name in chosen.ids}
        self._id_columns = [(position[name], texts) for name, texts in self._ids.items()]
        self._lines = array("q")

    def add_all(self, records: Iterator[tuple[int, list[str]]]) -> None:
        """Take in every record, (last line, cells), some hundreds at a time. Raises InputError."""
        while block := list(islice(records, _BLOCK_ROWS)):
            self._add(block)

    def add_plain(self, block: PlainBlock) -> None:
        """Take in the rows of a block whose cells are found already. Raises InputError."""
        if self._number_positions:
            numbers, is_plain = block.numbers(self._number_positions)
            if self._numeric_marks:  # plain ones too: as a text the cell may be one of the marks
                is_plain &= ~np.isin(numbers, [float(self._dialect.to_point(mark)) for mark in self._numeric_marks])
            if not is_plain.all():
                rows, columns = np.nonzero(~is_plain)
                cells = block.cells(rows, np.array(self._number_positions)[columns])
                numbers[rows, columns] = self._read_plain(cells) or [
                    self._read_number(self._number_names[column], cell.strip())
                    for column, cell in zip(columns.tolist(), cells, strict=True)
                ]
                for column, cell in zip(columns.tolist(), cells, strict=True):
                    self._thousands.add_cell(column, cell)
            looked_at = self._thousands.open_columns
            if looked_at.size:
                digits = block.digits(np.array(self._number_positions)[looked_at])
                self._thousands.add_digits(looked_at, *digits, is_plain[:, looked_at])
            self._numbers.frombytes(numbers.tobytes())
        self._add_texts(block.texts, block.lines.tolist())

    def _add(self, block: list[tuple[int, list[str]]]) -> None:
        for line, cells in block:
            if len(cells) != self._count:
                raise InputError(
                    f"{self._path}, line {line} has another number of cells than the header",
                    expected=str(self._count),
                    got=str(len(cells)),
                    cure="correct that line; a cell that holds the separator needs double quotes",
                )
        if self._number_positions:
            self._add_numbers([self._pick_numbers(cells) for _, cells in block])
        self._add_texts(lambda position: [cells[position].strip() for _, cells in block], [line for line, _ in block])

    def _add_texts(self, texts_in: Callable[[int], list[str]], lines: list[int]) -> None:
        """Take in what is no number: `texts_in` gives the cells at a position, without spaces around them."""
        is_missing = self._dialect.is_missing
        for name, position in self._text_positions.items():
            known, texts = self._texts[name], texts_in(position)
            self._codes[name].extend(-1 if is_missing(text) else known.setdefault(text, len(known)) for text in texts)
        if self._label is not None:
            self._labels += self._required(texts_in(self._label), lines, "label")
        for position, ids in self._id_columns:
            ids += self._required(texts_in(position), lines, "id")
        self._lines.extend(lines)

    @property
    def with_thousands(self) -> tuple[str, ...]:
        """Columns of numbers, and the label, whose points or commas may stand between thousands."""
        found = [self._number_names[column] for column in self._thousands.found.tolist()]
        if self._chosen.label is not None and have_thousands(set(self._labels)):
            found.append(self._chosen.label)
        return tuple(found)

    def finish(self, name: str) -> RawTable:
        """All columns in the order of the header."""
        row_count = len(self._lines)
        numbers = np.frombuffer(self._numbers, dtype=np.float64).reshape(row_count, len(self._number_names))
        columns: dict[str, RawColumn] = {column: numbers[:, i] for i, column in enumerate(self._number_names)}
        for column, codes in self._codes.items():
            columns[column] = TextColumn(np.array(codes, dtype=np.int64), tuple(self._texts[column]))
        return RawTable(
            name=name,
            columns={column: columns[column] for column in self._chosen.features},
            row_count=row_count,
            labels=None if self._label is None else np.array(self._labels, dtype=np.str_),
            ids=make_ids(self._ids, name) if self._ids else None,
            lines=np.array(self._lines, dtype=np.int64),
            decimal=self._dialect.decimal,
        )

    def _add_numbers(self, rows: list[Sequence[str]]) -> None:
        """Read whole blocks at once; rows that hold anything but plain numbers are read cell by cell."""
        self._thousands.add_rows(rows)
        numbers = self._read_plain(list(chain.from_iterable(rows)))
        if numbers is not None:
            self._numbers.extend(numbers)
            return
        for cells in rows:
            self._numbers.extend(self._read_plain(cells) or self._read_cells(cells))

    def _read_cells(self, cells: Sequence[str]) -> array[float]:
        return array(
            "d", [self._read_number(name, cell.strip()) for name, cell in zip(self._number_names, cells, strict=True)]
        )

    def _read_plain(self, cells: Sequence[str]) -> array[float] | None:
        """The numbers in cells of one row or of several; None where a cell needs a closer look."""
        dialect = self._dialect
        if self._numeric_marks and not {cell.strip() for cell in cells}.isdisjoint(self._numeric_marks):
            return None
        text = "".join(cells)
        if dialect.decimal == ",":
            if "." in text:
                return None
            cells = [cell.replace(",", ".") for cell in cells]
        try:
            numbers = array("d", map(float, cells))
        except ValueError:
            return None
        return None if "_" in text or not np.isfinite(np.frombuffer(numbers)).all() else numbers

    def _read_number(self, name: str, cell: str) -> float:
        if self._dialect.is_missing(cell):
            return math.nan
        number = read_number(cell, self._dialect.decimal)
        if number is not None:
            return number
        if cell not in _NOT_NUMBERS:
            self.found_texts.add(name)
        return math.nan

    def _required(self, texts: list[str], lines: list[int], role: str) -> list[str]:
        """The texts in a column in which none may be missing."""
        if not {"", *self._dialect.missing}.isdisjoint(texts):
            line = next(line for line, text in zip(lines, texts, strict=True) if self._dialect.is_missing(text))
            raise InputError(
                f"{self._path}, line {line} has no {role}",
                expected=f"{'an' if role == 'id' else 'a'} {role} in every row",
                got="an empty cell",
                cure="fill it in or remove the line",
            )
        return texts


def _picker(positions: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    """Takes the cells at these positions out of a row."""
    if not positions:
        return lambda cells: ()
    if list(positions) == list(range(positions[0], positions[-1] + 1)):
        columns = slice(positions[0], positions[-1] + 1)
        return lambda cells: cells[columns]
    return itemgetter(*positions)


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
