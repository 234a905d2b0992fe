"""The digest of all masked sums that arbiter and aggregator both saw: their shares fit together where it is one."""

from __future__ import annotations

import hashlib
from typing import Final

from hekat.errors import ProtocolError

DIGEST_BYTES: Final = 32
_START: Final = b"hekat/encrypted-model/transcript-start/1:"
_NEXT: Final = b"hekat/encrypted-model/transcript/1:"


def begin_transcript(session_id: bytes) -> bytes:
    """Of a new run, before its first round."""
    return hashlib.sha256(_START + session_id).digest()


def extend_transcript(transcript: bytes, total: bytes) -> bytes:
    """After a round with the masked sum `total`, as it is on the wire."""
    return hashlib.sha256(_NEXT + transcript + hashlib.sha256(total).digest()).digest()


def check_same_transcript(own: bytes, other: bytes, roles: str) -> None:
    """Raise ProtocolError where shares of `roles` are of different runs, rounds or resumptions."""
    if own != other:
        raise ProtocolError(
            f"the shares of {roles} do not belong together",
            expected="shares after the same sums",
            got="shares of another run or round, or one that saw another sum",
            cure="resume all roles from folders of one run, or begin anew",
        )
