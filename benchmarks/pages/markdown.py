"""Tables as Markdown has them."""

from __future__ import annotations

from collections.abc import Sequence


def table_head(head: Sequence[object]) -> list[str]:
    """The first two lines of a table."""
    return [table_line(*head), "|---" * len(head) + "|"]


def table_line(*cells: object) -> str:
    """One line of a table."""
    return f"| {' | '.join(map(str, cells))} |"
