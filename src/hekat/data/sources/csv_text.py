"""Lines of a CSV file as bytes, from cells that may hold anything: a csv.reader makes the same cells of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def csv_bytes(lines: Iterable[Sequence[str]]) -> bytes:
    """UTF-8, lines ended by a newline, and quotes where a cell needs them."""
    text = io.StringIO()
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for cells in lines:
        # Before Python 3.13 a lone carriage return is written without quotes, and a reader ends the line there.
        writer = quoted if any("\r" in cell for cell in cells) else plain
        writer.writerow(cells)
    return text.getvalue().encode()
