"""The sections of a new job file that describe columns, one for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.job.new.template_lines import toml_value
from hekat.toml_text import toml_key

COLUMNS_COMMENT = "what a column of texts can hold, and what stands for its empty cells"
_WIDTH = 110


def column_sections(columns: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """The lines of [columns.NAME] for each column, long lists over several lines."""
    sections = []
    for name, settings in columns.items():
        lines = [f"[{toml_key('columns', name)}]"]
        for key, value in settings.items():
            lines += _setting_lines(key, value)
        sections.append(lines)
    if sections:
        sections[0] = [
            "# What all parties are to know of columns, and see here: read it before you pass it on.",
            *sections[0],
        ]
    return sections


def _setting_lines(key: str, value: Any) -> list[str]:
    line = f"{toml_key(key)} = {toml_value(value)}"
    if len(line) <= _WIDTH or not isinstance(value, list):
        return [line]
    lines, row = [f"{toml_key(key)} = ["], "   "
    for item in value:
        shown = f" {toml_value(item)},"
        if len(row) + len(shown) > _WIDTH and row.strip():
            lines.append(row)
            row = "   "
        row += shown
    return [*lines, row, "]"]
