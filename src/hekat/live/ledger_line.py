"""A line of a ledger's file as the live page shows it: read, not verified, which `hekat audit` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.live.state import LedgerLine, Tells

_NOTE = "note"


def read_ledger_line(role: str, content: Mapping[str, Any]) -> LedgerLine | None:
    """The line, fields that tell the same joined; None for the signature at the ledger's end."""
    direction = content.get("direction")
    if not isinstance(direction, str):
        return None
    tells: dict[tuple[str, str], int] = {}
    for one in content.get("fields", ()):
        # A note's only field is named by what it says.
        what = one["name"] if direction == _NOTE else one["explanation"]
        key = (str(one["class"]), str(what))
        tells[key] = tells.get(key, 0) + int(one["bytes"])
    return LedgerLine(
        role=role,
        time=str(content.get("time", "")),
        direction=direction,
        peer=str(content.get("peer", "")),
        step=str(content.get("step", "")),
        kind=str(content.get("kind", "")),
        payload_bytes=int(content.get("payload_bytes", 0)),
        tells=tuple(Tells(how, what, count) for (how, what), count in tells.items()),
    )
