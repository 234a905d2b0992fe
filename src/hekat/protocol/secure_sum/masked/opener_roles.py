"""The aggregator's way to those who open sums: members of the committee, which are parties, or the key authority."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.opening.opening_scheme import OpeningScheme
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import SumSettings

T = TypeVar("T")


class OpenerRoles:
    """A member is lost as the party that it is; a run ends without its key authority."""

    def __init__(self, channel: RecordedChannel, settings: SumSettings, roster: Roster, scheme: OpeningScheme) -> None:
        self._channel, self._settings, self._roster, self._scheme = channel, settings, roster, scheme

    @property
    def reachable(self) -> tuple[str, ...]:
        """The openers that still take part."""
        lost = self._roster.lost
        return tuple(member for member in self._scheme.members if member not in lost)

    @property
    def whom_to_ask(self) -> str:
        """The cure where no sum opens."""
        authority, leader = self._settings.authority, self._settings.leader
        if not authority:
            return "the ledgers say whose releases did not fit: find out what runs there"
        # No party can tell a release that is wrong from one under another key than the first party gave the parties.
        return f"find out what runs at {authority}, and at {leader}, which gave {authority} the key of its releases"

    def check_enough(self, step: str, members: Collection[str]) -> None:
        """Raise ProtocolError where these are too few to open the sum of `step`."""
        if len(members) < self._scheme.quorum:
            lost = self._roster.lost
            gone = "; ".join(f"{member} ({lost[member]})" for member in self._scheme.members if member in lost)
            raise ProtocolError(
                f"too few members are left to open the sum of {step}",
                expected=f"{self._scheme.quorum} of {', '.join(self._scheme.members)}",
                got=f"{', '.join(members) or 'none'}, lost: {gone}",
                cure="resume from the last checkpoint once they are back: a new session begins",
            )

    def give_up(self, member: str, reason: str) -> None:
        """Go on without the member. Raises ProtocolError for the authority."""
        if member == self._settings.authority:
            raise ProtocolError(f"the key authority {member} cannot open", got=reason, cure="ask its operator")
        self._roster.expel(member, reason)

    def tell_authority(self, step: str, message: object) -> None:
        """Send to the authority, where there is one."""
        if self._settings.authority is not None:
            self._channel.send(self._settings.authority, step, message)

    def send(self, member: str, step: str, message: object) -> None:
        """Send to an opener."""
        if member == self._settings.authority:
            self._channel.send(member, step, message)
        else:
            self._roster.send(member, step, message)

    def receive(
        self, member: str, step: str, message_type: type[T], check: Callable[[T], None] = lambda message: None
    ) -> T | None:
        """The opener's next message; None where a member drops out."""
        if member != self._settings.authority:
            return self._roster.receive(member, step, message_type, check)
        message = self._channel.receive(member, step, message_type)
        check(message)
        return message
