"""Which roles of a vertical regression make a Paillier key of their own."""

from __future__ import annotations

from hekat.protocol.vertical_linear.settings import VerticalLinearSettings


def key_makers(settings: VerticalLinearSettings) -> tuple[str, ...]:
    """The arbiter where there is one; else guest and host, each for what the other computes under it."""
    return settings.parties if settings.arbiter is None else (settings.arbiter,)
