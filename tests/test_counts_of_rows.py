"""Counts of rows in errors, on the terminal, in reports and summaries: 1,800 rows, and nowhere 1800."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "hekat"
# A source without it tells no number of rows: to parse all sources takes long.
FORMATTED = re.compile(r"\}[^{}]{0,200}\brows?\b")
COUNTED = re.compile(r" (?:of (?:the )?)?(?:\w+[- ]){0,2}rows?\b")
# Before "rows" stand also names, texts that are made elsewhere, and constants below a thousand.
NO_COUNT = re.compile(r"(\w+\.)?(name|party|what|path|role|function|kind|other|host|label|guest|of)|[A-Z_]+")
# Written by `format_count` on the line before.
WRITTEN_BEFORE = {("report/vertical_linear/brief.py", "rows")}


def test_counts_of_rows_have_their_thousands_set_apart() -> None:
    bare = []
    for path in sorted(SOURCE.rglob("*.py")):
        source, name = path.read_text(), str(path.relative_to(SOURCE))
        if not FORMATTED.search(source):
            continue
        texts = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr))
        for value, after in itertools.chain.from_iterable(itertools.pairwise(text.values) for text in texts):
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant) and COUNTED.match(after.value):
                said = ast.unparse(value.value)
                form = "" if value.format_spec is None else ast.unparse(value.format_spec)
                is_written = said.startswith(("format_count(", "count_in_words(")) or (name, said) in WRITTEN_BEFORE
                if not (form or is_written or NO_COUNT.fullmatch(said)):
                    bare.append(f"{name}: write {{{said}:,}}")
    assert not bare, bare
