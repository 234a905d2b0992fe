"""One upload of all parties: its number, its participants, and the names of its messages' steps."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext, group_of
from hekat.protocol.secure_sum.settings import SumSettings

AUTHORITY_STEP = "authority/begin"
"""The step name under which the aggregator tells a key authority of every upload, and of the end."""
SHARE_KEYS_STEP = "share-keys"
"""The step name under which a party gives each member of a committee its keys, before it deals first in a session."""
MAX_UPLOADS = 3
"""An upload whose releases do not fit together is made again so often, with everything fresh, of a sum unseen."""


@dataclass(frozen=True)
class Leg:
    """`step` is what is summed ("round-3"); `number` is used once by every party, whatever step, run or session.

    Where one secret masks all sums of a group, the number is the secret's, and further steps of the group have it too.

    `agreement` is a party's own, as in UploadContext; None at roles that hold no model.
    """

    step: str
    number: int
    participants: tuple[str, ...]
    agreement: bytes | None = None

    def name(self, part: str) -> str:
        """The step name of a message of this upload."""
        return f"{self.step}/upload-{self.number}/{part}"

    def dealing_context(self, session_id: bytes, set_name: str) -> UploadContext:
        """The context for shares: what is dealt binds session and number; nobody agrees on anything yet."""
        return UploadContext(session_id, self.number, self.step, set_name)


def check_participants(leg: Leg, settings: SumSettings) -> None:
    """Raise ProtocolError unless the participants are parties of the job, none of them twice."""
    named = leg.participants
    if len(set(named)) != len(named) or not set(named) <= set(settings.parties):
        raise ProtocolError(
            f"the aggregator begins {leg.step} with others than the job's parties",
            expected=f"some of {', '.join(settings.parties)}",
            got="strangers, or a party twice",
            cure="ask the aggregator's operator",
        )


def further_step(step: str) -> str:
    """The step name under which a party announces its upload for a further sum of a group; `step` is any of the group.

    The announcement says for which step it is: parties may know it before the aggregator does.
    """
    return f"{group_of(step)}/further"


def begin_step(step: str) -> str:
    """The step name under which the aggregator begins uploads for `step`."""
    return f"{step}/begin"
