"""The list of decisions: every page of docs/decisions with the title that it has itself."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "decisions"
_HEAD = """# Decisions

Why things are as they are: context, choice, consequence. A later decision may supersede an earlier one, which then says
so at its top.

| number | decision |
|---|---|
"""


def render_decisions() -> str:
    """docs/decisions/index.md."""
    rows = []
    for page in sorted(FOLDER.glob("[0-9]*.md")):
        number, title = re.match(r"# (\d{4}): (.+)", page.read_text(encoding="utf-8")).groups()  # type: ignore[union-attr]
        rows.append(f"| {number} | [{title}]({page.name}) |")
    return _HEAD + "\n".join(rows) + "\n"
