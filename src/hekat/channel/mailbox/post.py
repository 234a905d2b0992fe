"""What an engine does for a mailbox: it hands a parcel to another role and brings back the receipt."""

from __future__ import annotations

from typing import Protocol

from hekat.errors import ChannelError


class UndeliveredError(ChannelError):
    """The engine did not bring a receipt: the parcel may have come or not, and is delivered again."""


class Post(Protocol):
    """An engine's way to the other roles. Threads of the mailbox call it, one at a time for each receiver."""

    def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
        """Hand `parcel` to the mailbox of role `to`; the receipt that its `accept` returned.

        Takes about `timeout_s` at most. Raises UndeliveredError where no receipt came. What else it raises counts as
        the same: an engine's own errors never end a run.

        A post that stores parcels (`MailboxChannel` with `stores_parcels`) returns once it has the parcel; what it
        returns is not read.
        """
        ...
