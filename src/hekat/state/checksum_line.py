"""A last line by which a small text file shows that it is as it was written: a fault shows, an intent does not."""

from __future__ import annotations

import hashlib


def with_checksum(body: bytes) -> bytes:
    """The file's bytes: `body`, which ends its last line, and a line of its SHA-256 in hex."""
    return body + f"{hashlib.sha256(body).hexdigest()}\n".encode()
