"""Plain text tables for reports that are read in a terminal, kept in a file, and compared."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = ("kB", "MB", "GB", "TB")


def format_table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, right_aligned: set[int]) -> str:
    """The rows under their titles, columns aligned; the last one is as long as its text. "(nothing)" without rows."""
    if not rows:
        return "  (nothing)"
    widths = [max(len(row[column]) for row in [titles, *rows]) for column in range(len(titles))]
    lines = [titles, ["-" * width for width in widths[:-1]] + ["-" * len(titles[-1])], *rows]
    return "\n".join(_format_row(line, widths, right_aligned) for line in lines)


def format_bytes(count: int) -> str:
    """`count` with a decimal unit, exact below 1000."""
    if count < 1000:
        return f"{count} B"
    value, place = count / 1000, 0
    while value >= 999.95 and place < len(_UNITS) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.1f} {_UNITS[place]}"


def _format_row(cells: Sequence[str], widths: Sequence[int], right_aligned: set[int]) -> str:
    padded = [
        cell.rjust(width) if column in right_aligned else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return ("  " + "  ".join(padded)).rstrip()
