"""The plots that all runs on columns have, from the summary to an inline SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.page import svg
from hekat.report.page.role_bars import draw_role_bytes

PART_COLOURS: Final = {
    "intersection": svg.SERIES[4],
    "keys": svg.SERIES[5],
    "encrypt": svg.SERIES[0],
    "sums": svg.SERIES[1],
    "decrypt": svg.SERIES[2],
    "plain": svg.SERIES[3],
    "others": svg.PLAIN,
    "idle": svg.RULE,
}
"""The colours of the parts of a role's time."""
_WAYS: Final = {"sent": "sent", "received": "received"}


def plot_bytes(summary: Mapping[str, Any]) -> str | None:
    """Sealed bytes of each role."""
    traffic = summary["bytes"]["by_role"]
    roles = [party["name"] for party in summary["parties"] if party["name"] in traffic]
    return draw_role_bytes(
        {role: {way: traffic[role][way] for way in _WAYS} for role in roles}, _WAYS, name="vertical-bytes"
    )
