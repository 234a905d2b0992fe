"""A frame's time limit against an end that always has more to send."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hekat.launch import frames
from hekat.launch.frames import ConnectionSilentError, receive_frame

MOST_PARTS = 1000


@dataclass
class Flood:
    """In the place of a socket: first `begins`, then bytes without end, each part of which takes `part_s`."""

    begins: bytes
    part_s: float
    now: float = 100.0
    limits: list[float] = field(default_factory=list)

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0, "0 would not wait at all"
        self.limits.append(seconds)

    def recv(self, size: int) -> bytes:
        assert len(self.limits) < MOST_PARTS, "nothing ends the call"
        self.now += self.part_s
        part, self.begins = self.begins[:size], self.begins[size:]
        return part or b"1"


@pytest.mark.parametrize("header_bytes", [0, 1 << 20])
def test_a_sender_that_never_pauses_is_refused_at_the_stated_time(
    header_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each receipt is at once there: only the clock ends it, within the header as within the payload."""
    flood = Flood(struct.pack("<IQ", header_bytes, 1 << 34), part_s=0.25)
    monkeypatch.setattr(frames, "time", SimpleNamespace(monotonic=lambda: flood.now))
    with pytest.raises(ConnectionSilentError):
        receive_frame(cast(Any, flood), within_s=2.0)
    assert flood.now == 102.0
    assert flood.limits == [2.0 - 0.25 * number for number in range(8)]
