"""What an object shows of itself in a notebook: a title and a few facts, as a small HTML table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def fact_table(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """HTML of the title and a row for each (name, value), all of it escaped; no colours, so that any theme suits."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in facts
    )
    return f'<table><caption style="text-align:left"><b>{escape(title)}</b></caption><tbody>{rows}</tbody></table>'
