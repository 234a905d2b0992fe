"""The signed word by which a party is lost to a session: from the party that gave up on it, or its own as it leaves.

A relay can always drop messages, and so make any party seem lost. It cannot say in a party's name that this party gave
up on another one, or that it left, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hekat.channel.party_key import PartyKey, PartyPublicKey
from hekat.errors import PartyLostError, PartyStoppedError, SealError

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


def check_dropout(
    error: PartyLostError | PartyStoppedError, session_id: bytes, told: str, keys: Mapping[str, PartyPublicKey]
) -> None:
    """Raise SealError where `error`, which party `told` was told, is somebody's word that this one did not sign.

    `keys` are of all parties, `told` among them. Silence needs no signature: it is nobody's word, and no more than
    dropping messages can bring about.
    """
    notice = error.notice
    if notice is None and not error.expelled_by:
        return
    signer = error.expelled_by or error.party
    lost = told if isinstance(error, PartyStoppedError) and error.expelled_by else error.party
    holds = (
        isinstance(notice, DropoutNotice)
        and signer in keys
        and notice.by == signer
        and notice.party == lost
        and notice.reason == error.told_reason
        and notice.reason in error.what
        and (bool(error.expelled_by) or _tells_as_signed(error, notice))
        and notice.holds(session_id, keys[signer])
    )
    if not holds:
        raise SealError(
            f"somebody says in the name of {signer!r} that a party is lost",
            expected=f"{signer!r}'s signature over which party is lost and why, of this session",
            got="one that does not hold, or none",
            cure="the relay made it up: begin again over another channel",
        ) from error


def _tells_as_signed(error: PartyLostError | PartyStoppedError, notice: DropoutNotice) -> bool:
    """Whether a party's own word is told with the step and with what was saved as that party signed them."""
    saved = error.saved if isinstance(error, PartyStoppedError) else notice.saved
    return (error.step, saved) == (notice.step, notice.saved)
