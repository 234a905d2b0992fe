"""What one role of a training of a split network leaves behind besides its files: plain data for summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hekat.protocol.vertical_network.party_run import NetworkRecord
from hekat.summary.vertical.role_result import ColumnsResult


@dataclass(frozen=True)
class TimedEpoch:
    """An epoch as this party saw it; `seconds` since the last one ended, or training began."""

    record: NetworkRecord
    seconds: float


@dataclass(frozen=True)
class NetworkResult(ColumnsResult):
    """One role's end, with the epochs that it saw.

    `bottom_kind` names the map of the party's own columns, `widths` are the inputs of the interactive layer by party;
    None and empty where the training did not end. `bottom_code` is the SHA-256 (hex) of the file whose code made a
    bottom of the site's own; `top_kind` and `top_code` are the same of the party's top.
    """

    epochs: tuple[TimedEpoch, ...] = ()
    bottom_kind: str | None = None
    bottom_code: str = ""
    top_kind: str | None = None
    top_code: str = ""
    widths: Mapping[str, int] = field(default_factory=dict)
