"""A finished loop as text and as HTML: parties, drop-outs, caveats, seconds, bytes, clipped values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hekat.own_loop.costs import Costs

Table = tuple[str, list[str], list[list[str]]]


def describe(tables: Sequence[Table], title: str, lines: Sequence[str]) -> str:
    """Plain text: the title, tables, then the lines."""
    parts = [title]
    for heading, columns, rows in tables:
        parts.append(f"\n{heading}\n" + _as_text(columns, rows))
    if lines:
        parts.append("\n" + "\n".join(f"  {line}" for line in lines))
    return "\n".join(parts)


def describe_html(tables: Sequence[Table], title: str, lines: Sequence[str]) -> str:
    """The same as HTML, for notebooks."""
    parts = [f"<p><b>{escape(title)}</b></p>"]
    for heading, columns, rows in tables:
        head = "".join(f"<th>{escape(column)}</th>" for column in columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        parts.append(f"<p>{escape(heading)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    parts += [f"<p>{escape(line)}</p>" for line in lines]
    return "".join(parts)


def tables_of(costs: Costs) -> list[Table]:
    """Seconds by role and step, and the bytes of a round."""
    tables = [seconds_table(costs.seconds, costs.seconds_by_step, costs.wall_seconds)]
    if costs.rounds:
        tables.append(_bytes_table(costs))
    return tables


def seconds_table(seconds: Mapping[str, Mapping[str, float]], total: Mapping[str, float], wall: float) -> Table:
    """Seconds by role and step; `total` is over all roles, in the order of the columns."""
    steps = list(total)
    rows = [
        [role, *(_seconds(found.get(step)) for step in steps), _seconds(sum(found.values()))]
        for role, found in seconds.items()
    ]
    rows.append(["all", *(_seconds(total[step]) for step in steps), _seconds(sum(total.values()))])
    heading = f"Seconds by step (train: the parties' own code); the whole run took {_seconds(wall)} s"
    return heading, ["role", *steps, "sum"], rows


def _bytes_table(costs: Costs) -> Table:
    """The last round, and all; a first round carries a histogram of exponents too."""
    last = costs.rounds[-1]
    parts = list(last.bytes.values())
    count = max(1, len(parts))
    one_way = last.float32_bytes
    rows = []
    sent = "up, masked in part, sealed" if last.clear_count else "up, masked or encrypted, sealed"
    for what, value in (
        (sent, sum(part.up for part in parts) / count),
        ("down, the sum", sum(part.down for part in parts) / count),
        ("between those who open sums", sum(part.shares for part in parts) / count),
    ):
        rows.append([what, show_size(value), f"{value / one_way:.2f}x" if one_way else ""])
    rows.append(["plain float32, one way", show_size(one_way), "1x"])
    clipped = f"{costs.clipped_count} of {costs.value_count}"
    if costs.scaled_down_count:
        updates = sum(one.party_count for one in costs.rounds)
        clipped += f"; updates scaled down to max_norm: {costs.scaled_down_count} of {updates}"
    clear = f", {last.clear_count} of them IN THE CLEAR," if last.clear_count else ""
    values = f"{last.value_count}"
    if last.whole_count > last.value_count:
        values += f" of {last.whole_count}"
    heading = (
        f"Bytes of a party in round {last.round}: {values} values{clear} at {last.bits_per_value:.1f} bits "
        f"up; clipped in all rounds: {clipped}"
    )
    return heading, ["what", "bytes", "to float32"], rows


def _as_text(columns: list[str], rows: list[list[str]]) -> str:
    cells = [columns, *rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return "\n".join(
        "  "
        + "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    )


def _seconds(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.1f}" if value >= 100 else f"{value:.3f}" if value < 1 else f"{value:.2f}"


def show_size(value: float) -> str:
    """Bytes in their unit."""
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.2f} GB"
