"""Passes snapshots to the page's readers, and keeps the newest for Prometheus."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.live.export.prometheus import write_metrics
from hekat.live.facts import Fact
from hekat.live.feed import Feed
from hekat.live.state import LiveState


class PageSink:
    """A sink of snapshots; `feed` hands them on."""

    def __init__(self, state: LiveState) -> None:
        self.feed = Feed()
        self._state = state
        self.feed.publish(state.to_json())

    def take(self, state: LiveState, facts: Sequence[Fact]) -> None:
        self._state = state
        self.feed.publish(state.to_json(), is_last=state.is_over)

    def metrics(self) -> tuple[bytes, str]:
        """The newest figures as Prometheus reads them, with their media type."""
        return write_metrics(self._state)
