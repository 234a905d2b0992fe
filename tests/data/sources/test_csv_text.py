"""Cells of any text come back as they were written."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from hekat.data.sources.csv_text import csv_bytes

# Surrogates have no UTF-8; the rest is what quoting is about, and characters that some take for the end of a line.
CELLS = st.text(
    st.sampled_from("ab,;\" \r\n\t\x00\x0b\x0c\x85\u2028\ufeff'") | st.characters(exclude_categories=["Cs"])
)


@given(st.lists(st.tuples(CELLS, CELLS)))
def test_cells_come_back(lines) -> None:
    for cells in (lines, [line[:1] for line in lines]):
        again = csv.reader(io.StringIO(csv_bytes(cells).decode(), newline=""), strict=True)
        assert [tuple(line) for line in again] == cells


def test_what_needs_no_quotes_has_none() -> None:
    assert csv_bytes([("id", "age"), ("a 1", "2")]) == b"id,age\na 1,2\n"
