"""Finds out how a CSV file is written: its encoding and its separator."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from pathlib import Path

from hekat.data.sources.csv_dialect import SEPARATORS, CsvDialect
from hekat.data.sources.source_file import readable_file

_CHUNK_BYTES = 2**20
_SAMPLE_CHARS = 2**18
_SAMPLE_RECORDS = 200


def find_dialect(path: Path) -> CsvDialect:
    """The dialect of the file at `path`, its decimal sign aside. The encoding is judged by all bytes of the file, the
    separator by the first 200 records. Raises InputError for what is no readable file."""
    with readable_file(path):
        encoding = _encoding_of(path)
        reading = CsvDialect(encoding=encoding).reading_encoding
        with path.open(encoding=reading, newline="") as file:
            lines = file.read(_SAMPLE_CHARS).splitlines(keepends=True)
    return CsvDialect(separator=_separator_of(lines), encoding=encoding)


def _encoding_of(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(2)
        if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        for encoding in ("utf-8", "cp1252"):
            file.seek(0)
            decoder = codecs.getincrementaldecoder(encoding)()
            try:
                while chunk := file.read(_CHUNK_BYTES):
                    decoder.decode(chunk)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                continue
            return encoding
    return "latin-1"


def _separator_of(lines: list[str]) -> str:
    """The separator under which most records have as many cells as the header, and at least two."""
    best, best_score = SEPARATORS[0], (0.0, 0)
    for separator in SEPARATORS:
        widths = _widths(lines, separator)
        if widths and widths[0] > 1:
            score = (Counter(widths)[widths[0]] / len(widths), widths[0])
            if score > best_score:
                best, best_score = separator, score
    return best


def _widths(lines: list[str], separator: str) -> list[int]:
    """The number of cells of each record, as far as the sample holds whole records."""
    widths: list[int] = []
    try:
        for record in csv.reader(lines[:-1] or lines, delimiter=separator, strict=True):
            if record:
                widths.append(len(record))
            if len(widths) == _SAMPLE_RECORDS:
                break
    except csv.Error:
        pass  # the last record may be cut; one that is no CSV is told where the whole file is read
    return widths
