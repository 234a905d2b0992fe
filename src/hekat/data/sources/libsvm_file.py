"""Reads sparse rows from a libsvm (svmlight) file: a label, then INDEX:VALUE for each value that is not 0."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from hekat.data.features import MAX_COLUMNS
from hekat.data.number_text import shortest_whole
from hekat.data.sources.source_file import readable_file
from hekat.data.table import Table
from hekat.errors import InputError


def load_libsvm(path: Path, *, columns: int, zero_based: bool = False, name: str | None = None) -> Table:
    """Read sparse rows from a libsvm (svmlight) file.

    What follows a # is a comment; blank lines are passed over. Labels are texts in their shortest form ("1" for "+1").

    Args:
        path: The file.
        columns: N, how many columns there are, the same at every party.
        zero_based: Whether indices begin at 0.
        name: What errors call the table; the file's name if None.

    Returns:
        The sparse table, with columns called column_1 to column_N.

    Raises:
        InputError: A line is malformed; the message has its number, never what stands there.

    Examples:
        >>> from pathlib import Path
        >>> from hekat.data import load_libsvm
        >>> _ = Path("clinic.svm").write_text("+1 1:61 3:1\\n-1 1:40\\n")
        >>> load_libsvm(Path("clinic.svm"), columns=3).features.toarray()
        array([[61.,  0.,  1.],
               [40.,  0.,  0.]])
    """
    from scipy.sparse import csr_array

    if not 1 <= columns <= MAX_COLUMNS:
        raise InputError(
            "columns refused",
            expected=f"a whole number from 1 to {MAX_COLUMNS}",
            got=str(columns),
            cure="say how many columns the data have, the same number at every party",
        )
    rows = _Rows(path, columns, 0 if zero_based else 1)
    with readable_file(path), path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            content = line.partition("#")[0].split()
            if content:
                rows.add(number, content)
    parts = (np.array(rows.values), np.array(rows.indices, dtype=np.int64), np.array(rows.starts, dtype=np.int64))
    features = csr_array(parts, shape=(len(rows.labels), columns))
    names = tuple(f"column_{number}" for number in range(1, columns + 1))
    return Table(features, np.array(rows.labels, dtype=np.str_), names, name or str(path))


@dataclass
class _Rows:
    """The rows read so far, in the three arrays of CSR."""

    path: Path
    column_count: int
    first_index: int
    labels: list[str] = field(default_factory=list)
    values: array[float] = field(default_factory=lambda: array("d"))
    indices: array[int] = field(default_factory=lambda: array("q"))
    starts: array[int] = field(default_factory=lambda: array("q", [0]))

    def add(self, line: int, content: list[str]) -> None:
        label, *cells = content
        self.labels.append(self._read_label(line, label))
        seen = set()
        for cell in cells:
            index, value = self._read_cell(line, cell)
            if index in seen:
                self._refuse(line, "names a column twice", "each index once in a line", "one that repeats")
            seen.add(index)
            self.indices.append(index)
            self.values.append(value)
        self.starts.append(len(self.indices))

    def _read_label(self, line: int, text: str) -> str:
        try:
            is_number = math.isfinite(float(text)) and "_" not in text
        except ValueError:
            is_number = False
        if not is_number:
            got = "several labels" if "," in text else "INDEX:VALUE" if ":" in text else "something else"
            self._refuse(line, "does not begin with a label", "one number, such as 1 or -1", got)
        return shortest_whole(text)

    def _read_cell(self, line: int, cell: str) -> tuple[int, float]:
        left, colon, right = cell.partition(":")
        try:
            index, value = int(left), float(right)
        except ValueError:
            got = "a query id" if left == "qid" else "something else" if colon else "no colon"
            self._refuse(line, "holds what is no cell", "INDEX:VALUE, an index and a number", got)
        if not math.isfinite(value) or "_" in cell:
            self._refuse(line, "holds a value that is no finite number", "a number such as 1 or -0.5", "another")
        position = index - self.first_index
        if not 0 <= position < self.column_count:
            last = self.column_count - 1 + self.first_index
            is_zero = index == 0 and self.first_index == 1
            raise InputError(
                f"{self.path}, line {line} holds an index beyond the columns",
                expected=f"indices from {self.first_index} to {last}",
                got="0" if is_zero else "another",
                cure="say zero_based = true in the site file"
                if is_zero
                else "raise columns in the site file, the same at every party",
            )
        return position, value

    def _refuse(self, line: int, what: str, expected: str, got: str) -> NoReturn:
        raise InputError(
            f"{self.path}, line {line} {what}",
            expected=expected,
            got=got,
            cure="correct that line; a libsvm line is LABEL INDEX:VALUE INDEX:VALUE ...",
        )
