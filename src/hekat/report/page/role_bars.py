"""Bars of where each role's seconds and bytes go, a bar for each role: alike for all protocols."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.report.number_text import format_byte_count, format_seconds
from hekat.report.page.stacked_bars import Stacks, draw_stacks


def draw_role_seconds(
    stacks: Stacks,
    kinds: Mapping[str, str],
    *,
    name: str,
    unit: str = "seconds of the whole run",
    columns: int = 2,
    colours: Mapping[str, str] | None = None,
) -> str | None:
    """Seconds of each role by kind of work; None where nothing was measured. `kinds`, `colours`: see `draw_stacks`."""
    return draw_stacks(
        stacks,
        kinds,
        title="Where each role's time goes",
        unit=unit,
        say=format_seconds,
        tick=lambda value: f"{value:g}",
        name=name,
        description="Seconds of each role by kind of work",
        columns=columns,
        colours=colours,
    )


def draw_role_bytes(stacks: Stacks, kinds: Mapping[str, str], *, name: str) -> str | None:
    """Sealed bytes of each role by the way they went; None where nothing was measured."""
    return draw_stacks(
        stacks,
        kinds,
        title="What each role sends and receives",
        unit="sealed bytes of the whole run",
        say=lambda value: format_byte_count(round(value)),
        tick=lambda value: format_byte_count(round(value)),
        name=name,
        description="Sealed bytes of each role by the way they went",
        columns=2,
    )
