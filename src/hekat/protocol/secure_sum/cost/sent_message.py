"""One message as a count of bytes sees it: sender, receiver, step, length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hekat.wire import to_bytes
from hekat.wire.body import packed_bytes_length


@dataclass(frozen=True)
class Sent:
    """`payload_bytes` before sealing."""

    sender: str
    receiver: str
    step: str
    payload_bytes: int


def message_bytes(message: Any, content_bytes: int = 0) -> int:
    """Bytes of `message` as written, with `content_bytes` bytes in the one byte string that is empty in it."""
    return len(to_bytes(message)) + packed_bytes_length(content_bytes) - packed_bytes_length(0)
