"""Names and texts for TOML files: a reader of TOML finds what was written, whatever signs it has."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.toml_text import toml_key, toml_text

# Lone halves of surrogate pairs stand in no file.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_a_table_of_any_name_is_found_again(parts: list[str], value: str) -> None:
    found = tomllib.loads(f"[{toml_key(*parts)}]\nkey = {toml_text(value)}\n")
    for part in parts:
        found = found[part]
    assert found == {"key": value}


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        (("party", "north-1", "state"), "party.north-1.state"),
        (("columns", "blood pressure"), 'columns."blood pressure"'),
        (("columns", 'a "b" \\ c'), r'columns."a \"b\" \\ c"'),
        (("columns", "Gr\u00f6\u00dfe"), 'columns."Gr\u00f6\u00dfe"'),
        (("columns", "a.b"), 'columns."a.b"'),
        (("columns", ""), 'columns.""'),
        (("columns", "line\nfeed\x7f"), r'columns."line\nfeed\u007f"'),
    ],
)
def test_quotes_stand_where_they_must(parts: tuple[str, ...], written: str) -> None:
    assert toml_key(*parts) == written
