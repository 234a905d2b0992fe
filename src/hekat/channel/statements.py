"""What several parties signed, verified at once."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from hekat.channel.channel import check_name
from hekat.channel.party_key import PartyPublicKey

# Before every purpose that a protocol names: what it signs is never taken for a hello, a message or a ledger.
PROTOCOL_PURPOSE = "hekat/protocol-statement/1: "

Statements: TypeAlias = tuple[tuple[str, bytes, tuple[bytes, ...]], ...]
"""For each of several parties its name, its signature, and the fields that this is over."""


def protocol_purpose(purpose: str) -> str:
    """The purpose that a protocol names, as it is signed. Raises InputError for a malformed one."""
    check_name(purpose, "purpose")
    return PROTOCOL_PURPOSE + purpose


# Whether signatures hold depends on these values alone. Where one process plays many roles, each of them is shown the
# same statements of all: one verifies them.
@lru_cache(maxsize=8)
def find_unsigned(
    purpose: str, session_id: bytes, statements: Statements, signers: tuple[PartyPublicKey, ...]
) -> str | None:
    """The first party whose signature over session and fields does not hold under its key; None where all do."""
    for (party, signature, fields), signer in zip(statements, signers, strict=True):
        if not signer.verify(signature, purpose, session_id, *fields):
            return party
    return None
