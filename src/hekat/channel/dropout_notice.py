"""The signed word by which a party is lost to a session: from the party that gave up on it, or its own as it leaves.

A relay can always drop messages, and so make any party seem lost. It cannot say in a party's name that this party gave
up on another one, or that it left, and why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hekat.channel.party_key import PartyKey, PartyPublicKey

_PURPOSE = "hekat/dropout-notice/2"
FINISHED_REASON = "finished"
"""The reason of a role that returned: its own word, so that nobody else can say it."""
BEFORE_FIRST_STEP = "start (no message yet)"
"""The step of a role that has sent and received nothing yet."""


@dataclass(frozen=True)
class DropoutNotice:
    """`by` says of `party` (itself, where it leaves) that it is gone, for `reason`; bound to one session.

    Of itself it also says in which `step`, what it had `saved`, and the parties that it had `lost` before.
    """

    by: str
    party: str
    reason: str
    signature: bytes
    step: str = ""
    saved: str = ""
    lost: tuple[str, ...] = ()

    def holds(self, session_id: bytes, signer: PartyPublicKey) -> bool:
        """Whether `signer`, the pinned key of `by`, signed these words in that session."""
        return signer.verify(self.signature, _PURPOSE, *self._fields(session_id))

    def _fields(self, session_id: bytes) -> tuple[bytes, ...]:
        words = (self.by, self.party, self.reason, self.step, self.saved, *self.lost)
        return session_id, *(word.encode() for word in words)


def sign_dropout(
    key: PartyKey,
    session_id: bytes,
    by: str,
    party: str,
    reason: str,
    *,
    step: str = "",
    saved: str = "",
    lost: tuple[str, ...] = (),
) -> DropoutNotice:
    """The notice that `by` signs with its key."""
    unsigned = DropoutNotice(by, party, reason, b"", step, saved, lost)
    return replace(unsigned, signature=key.sign(_PURPOSE, *unsigned._fields(session_id)))
