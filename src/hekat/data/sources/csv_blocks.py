"""Finds the cells of a CSV file in whole blocks of its bytes, where no cell stands in quotes."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from hekat.data.plain_numbers import PADDING, Bytes, Positions, read_plain_numbers
from hekat.data.sources.csv_dialect import CsvDialect

# A block with the positions of its cells fits into a processor's own memory.
_BLOCK_BYTES = 2**19
# In these every byte below 128 is the ASCII character, whatever stands beside it.
_ASCII_LIKE = ("utf-8", "ascii")
_ASCII_LIKE_FAMILIES = ("iso8859", "cp125")
# csv.reader refuses longer cells.
_MOST_CELL_BYTES = 131_072
# Texts of a column are taken as one array up to that many bytes.
_MOST_COLUMN_BYTES = 2**24
_SEPARATOR, _NEWLINE, _POINT = 1, 2, 3
_MINUS, _PLUS, _ZERO = b"-+0"


@dataclass(frozen=True, eq=False, repr=False)
class PlainBlock:
    """Rows of cells: `starts`, `points` (of the decimal sign, or the end) and `ends` are (rows, columns) in `data`."""

    data: bytes
    padded: Bytes
    encoding: str
    is_ascii: bool
    starts: Positions
    points: Positions
    ends: Positions
    lines: Positions

    def texts(self, column: int) -> list[str]:
        """The cells of a column, without spaces around them."""
        starts, ends = self.starts[:, column], self.ends[:, column]
        width = int((ends - starts).max(initial=0))
        if not self.is_ascii or not width or width * starts.size > _MOST_COLUMN_BYTES:
            return [text.strip() for text in self._slices(starts, ends)]
        places = np.arange(width)
        taken = self.padded[np.minimum(starts[:, None] + places + len(PADDING), self.padded.size - 1)]
        cells = np.where(places < (ends - starts)[:, None], taken, 0).astype(np.uint8).view(f"S{width}").reshape(-1)
        return [text.strip() for text in cells.astype(np.str_).tolist()]

    def numbers(self, columns: list[int]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """(rows, len(columns)) the numbers, and which of them stand there in plain form, as others have to be read."""
        chosen = (self.starts[:, columns], self.points[:, columns], self.ends[:, columns])
        numbers, is_plain = read_plain_numbers(self.padded, *(positions.reshape(-1) for positions in chosen))
        return numbers.reshape(chosen[0].shape), is_plain.reshape(chosen[0].shape)

    def digits(self, columns: Positions) -> tuple[Positions, Positions, npt.NDArray[np.bool_]]:
        """(rows, len(columns)) how many characters a cell has before its decimal sign, its own sign apart, and after
        it, -1 where it has none; and whether its first digit is not 0."""
        starts, points, ends = self.starts[:, columns], self.points[:, columns], self.ends[:, columns]
        first = self.padded[starts + len(PADDING)]
        starts = starts + ((first == _MINUS) | (first == _PLUS))
        return points - starts, ends - points - 1, self.padded[starts + len(PADDING)] != _ZERO

    def cells(self, rows: Positions, columns: Positions) -> list[str]:
        """The cells at these places as they stand there."""
        return self._slices(self.starts[rows, columns], self.ends[rows, columns])

    def _slices(self, starts: Positions, ends: Positions) -> list[str]:
        data, encoding = self.data, self.encoding
        return [data[start:end].decode(encoding) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


class PlainBlocks:
    """The blocks of a file after its header, up to the first one whose cells are not all found by their separators.

    Args:
        path: The file.
        dialect: How it is written.
        header_line: The last line of the header; lines count from 1.
        column_count: How many cells a row has.
    """

    def __init__(self, path: Path, dialect: CsvDialect, header_line: int, column_count: int) -> None:
        self._path, self._dialect, self._count = path, dialect, column_count
        self._header_line = header_line
        self._kinds = np.zeros(256, dtype=np.uint8)
        self._kinds[[ord(dialect.decimal), ord(dialect.separator), ord("\n")]] = _POINT, _SEPARATOR, _NEWLINE
        self.line, self.offset = 0, 0
        """The lines and bytes before what is still to be read; 0 where all is."""

    def __iter__(self) -> Iterator[PlainBlock]:
        encoding = codecs.lookup(self._dialect.encoding).name
        if encoding not in _ASCII_LIKE and not encoding.startswith(_ASCII_LIKE_FAMILIES):
            return
        if self._dialect.separator == self._dialect.decimal:
            return
        with self._path.open("rb") as file:
            header = b"".join(file.readline() for _ in range(self._header_line))
            if header.count(b"\r") != header.count(b"\r\n"):
                return
            self.line, self.offset = self._header_line, len(header)
            while data := _whole_lines(file):
                block = self._find_cells(data, encoding)
                if block is None:
                    return
                yield block
                self.line += data.count(b"\n")
                self.offset += len(data)

    def _find_cells(self, data: bytes, encoding: str) -> PlainBlock | None:
        if b'"' in data or b"\0" in data:
            return None
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
            if b"\r" in data:
                return None
        if not (is_ascii := data.isascii()):
            data.decode(encoding)  # a cell that no column takes has to be text as well
        padded = np.frombuffer(PADDING + data + (b"" if data.endswith(b"\n") else b"\n"), dtype=np.uint8)
        kinds = self._kinds[padded[len(PADDING) :]]
        signs = np.flatnonzero(kinds != 0)
        kinds = kinds[signs]
        last = np.flatnonzero(kinds != _POINT)
        ends, is_line_end = signs[last], kinds[last] == _NEWLINE
        starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1] + 1])
        point_counts = np.diff(last, prepend=-1) - 1
        # Of several decimal signs the last one counts: the others are no digits then.
        points = np.where(point_counts > 0, signs[last - 1], ends)
        is_blank = is_line_end & (starts == ends) & np.concatenate([np.ones(1, dtype=np.bool_), is_line_end[:-1]])
        lines = self.line + 1 + np.flatnonzero(~is_blank[is_line_end])
        if is_blank.any():
            starts, points, ends, is_line_end = (one[~is_blank] for one in (starts, points, ends, is_line_end))
        shape = (lines.size, self._count)
        if ends.size != lines.size * self._count or not is_line_end.reshape(shape)[:, -1].all():
            return None
        if int((ends - starts).max(initial=0)) > _MOST_CELL_BYTES:
            return None
        starts, points, ends = (positions.reshape(shape) for positions in (starts, points, ends))
        return PlainBlock(data, padded, encoding, is_ascii, starts, points, ends, lines)


def _whole_lines(file: BinaryIO) -> bytes:
    """The next bytes of the file up to the end of a line; none at its end."""
    return file.read(_BLOCK_BYTES) + file.readline()
