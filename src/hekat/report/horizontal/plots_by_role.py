"""Plots of where each role's time and bytes go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.horizontal.by_role import STEP_KINDS, WAYS, kind_seconds, way_bytes
from hekat.report.number_text import format_byte_count, format_seconds
from hekat.report.page.stacked_bars import draw_stacks


def plot_role_time(summary: Mapping[str, Any]) -> str | None:
    """Seconds of each role as a bar of three kinds of steps."""
    return draw_stacks(
        kind_seconds(summary),
        STEP_KINDS,
        title="Where each role's time goes",
        unit="seconds, summed over all rounds",
        say=format_seconds,
        tick=lambda value: f"{value:g}",
        name="role-time",
        description="Seconds of each role by kind of step",
        columns=1,
    )


def plot_role_bytes(summary: Mapping[str, Any]) -> str | None:
    """Sealed bytes of each role as a bar of the ways they went."""
    return draw_stacks(
        way_bytes(summary),
        WAYS,
        title="What each role sends and receives",
        unit="sealed bytes of the whole run",
        say=lambda value: format_byte_count(round(value)),
        tick=lambda value: format_byte_count(round(value)),
        name="role-bytes",
        description="Sealed bytes of each role by the way they went",
        columns=2,
    )
