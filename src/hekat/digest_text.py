"""SHA-256 as files, jobs and calls write it: 64 hexadecimal digits in small letters."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"[0-9a-f]{64}")


def is_digest(text: str) -> bool:
    """Whether `text` is a digest as Hekat writes it."""
    return _DIGITS.fullmatch(text) is not None
