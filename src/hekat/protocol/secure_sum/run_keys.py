"""Symmetric keys that the leader gives to all parties, and what a party checks of them.

The aggregator could guess a shorter key, above all an empty one, and then find a model by its digest, or the secrets
of opening `shared`.
"""

from __future__ import annotations

import secrets
from typing import Final

from hekat.errors import KeyRefusedError
from hekat.protocol.secure_sum.settings import SumSettings

RUN_KEY_BYTES: Final = 32


def draw_run_key() -> bytes:
    """A fresh key from the operating system's randomness; secret, sealed to all parties."""
    return secrets.token_bytes(RUN_KEY_BYTES)


def check_run_key(key: bytes, what: str, settings: SumSettings, *, wanted: bool = True) -> bytes:
    """The key as it came from the leader.

    Raises KeyRefusedError for another length than RUN_KEY_BYTES; where no key is `wanted`, for any key.
    """
    expected = RUN_KEY_BYTES if wanted else 0
    if len(key) != expected:
        raise KeyRefusedError(
            f"{settings.leader} sent no {what} of this job",
            expected=f"{expected} bytes",
            got=f"{len(key)} bytes",
            cure=f"find out what runs at {settings.leader}: this release sends none of that length",
        )
    return key
