"""Parcels between sites: what goes out by the engine's messages, and what comes in before and while a role plays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from hekat.channel.mailbox import MailboxChannel, UndeliveredError
from hekat.errors import HekatError

Ask = Callable[[str, bytes, float], object]
"""Hands bytes to a site by its name within so many seconds; returns what it answered, None where nothing came back."""


@dataclass(frozen=True)
class SitePost:
    """The post of a mailbox: a parcel for a role goes to the site that plays it."""

    sites: Mapping[str, str]
    ask: Ask

    def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
        """Hand `parcel` to the role `to`; returns its receipt. Raises UndeliveredError where none came."""
        receipt = self.ask(self.sites[to], parcel, timeout_s)
        if not isinstance(receipt, bytes):
            raise UndeliveredError(
                f"the site of {to!r} takes no messages", expected="a receipt", got="none", cure="look at that site"
            )
        return receipt


class Door:
    """Where parcels for this site's role arrive: answered by nothing until the role's channel is there."""

    def __init__(self) -> None:
        self._channel: MailboxChannel | None = None
        self._state = Lock()

    def open(self, channel: MailboxChannel) -> None:
        """Let parcels in, to `channel`."""
        with self._state:
            self._channel = channel

    def accept(self, parcel: object) -> bytes | None:
        """The receipt for what a peer delivered; None for what is no parcel, or where nobody is in. Never blocks."""
        with self._state:
            channel = self._channel
        if channel is None or not isinstance(parcel, bytes):
            return None
        try:
            return channel.accept(parcel)
        except HekatError:
            # Malformed parcels get no receipt; the engine would log, and stream, a traceback.
            return None
