"""The signed word by which a party is lost to a session: from the party that gave up on it, or its own as it leaves.

A relay can always drop messages, and so make any party seem lost. It cannot say in a party's name that this party gave
up on another one, or that it left, and why.
"""

from __future__ import annotations

from dataclasses import dataclass

from hekat.channel.party_key import PartyKey, PartyPublicKey

_PURPOSE = "hekat/loss-notice/1"


@dataclass(frozen=True)
class DropoutNotice:
    """`by` says of `party` (itself, where it leaves) that it is lost, for `reason`; bound to one session."""

    by: str
    party: str
    reason: str
    signature: bytes

    def holds(self, session_id: bytes, signer: PartyPublicKey) -> bool:
        """Whether `signer`, the pinned key of `by`, signed these words in that session."""
        return signer.verify(self.signature, _PURPOSE, *_fields(session_id, self.by, self.party, self.reason))


def sign_dropout(key: PartyKey, session_id: bytes, by: str, party: str, reason: str) -> DropoutNotice:
    """The notice that `by` signs with its key."""
    return DropoutNotice(by, party, reason, key.sign(_PURPOSE, *_fields(session_id, by, party, reason)))


def _fields(session_id: bytes, by: str, party: str, reason: str) -> tuple[bytes, ...]:
    return session_id, by.encode(), party.encode(), reason.encode()
