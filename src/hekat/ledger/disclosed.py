"""One row of an audit: what one field of one kind of message told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Disclosed:
    """One field of one kind of message in one kind of step, over all its messages. Numbers in steps show as "*"."""

    peer: str
    step: str
    kind: str
    field: str
    disclosure_class: str
    explanation: str
    message_count: int
    byte_count: int
