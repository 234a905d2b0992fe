"""Plots of where each role's time and bytes go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.horizontal.by_role import STEP_KINDS, WAYS, kind_seconds, way_bytes
from hekat.report.page.role_bars import draw_role_bytes, draw_role_seconds


def plot_role_time(summary: Mapping[str, Any]) -> str | None:
    """Seconds of each role as a bar of three kinds of steps."""
    return draw_role_seconds(
        kind_seconds(summary), STEP_KINDS, name="role-time", unit="seconds, summed over all rounds", columns=1
    )


def plot_role_bytes(summary: Mapping[str, Any]) -> str | None:
    """Sealed bytes of each role as a bar of the ways they went."""
    return draw_role_bytes(way_bytes(summary), WAYS, name="role-bytes")
