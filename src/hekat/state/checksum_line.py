"""A last line that shows accidental damage of a small text file; it does not show deliberate changes."""

from __future__ import annotations

import hashlib


def with_checksum(body: bytes) -> bytes:
    """The file's bytes: `body`, which ends its last line, and a line of its SHA-256 in hex."""
    return body + f"{hashlib.sha256(body).hexdigest()}\n".encode()
