"""The parties that still take part in a run: the aggregator goes on without one that drops out or misbehaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable
from functools import partial
from typing import Any, TypeVar

from hekat.errors import (
    ChannelTimeoutError,
    DivergedError,
    HekatError,
    InputError,
    PartyLostError,
    PartyStoppedError,
    ProtocolError,
    SealError,
    WireError,
)
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.settings import SumSettings

T = TypeVar("T")


class Roster:
    """The aggregator's way to the parties. Under a protection that bears no drop-outs any failure ends the run."""

    def __init__(self, channel: RecordedChannel, settings: SumSettings) -> None:
        self._channel, self._settings = channel, settings
        self._lost: dict[str, str] = {}
        # Parties that say they left because their training diverged: resumed unchanged it would diverge again.
        self._diverged: set[str] = set()

    @property
    def parties(self) -> tuple[str, ...]:
        """The parties that still take part, in the order of the job."""
        return tuple(name for name in self._settings.parties if name not in self._lost)

    @property
    def lost(self) -> dict[str, str]:
        """The parties that take part no more, each with the reason."""
        return dict(self._lost)

    def receive(
        self,
        party: str,
        step: str,
        message_type: type[T],
        check: Callable[[T], None] = lambda message: None,
        timeout_s: float | None = None,
    ) -> T | None:
        """The party's next message, if `check` raises nothing for it; None where the party so drops out."""
        received = self.receive_digested(party, step, message_type, check, timeout_s)
        return None if received is None else received[0]

    def receive_digested(
        self,
        party: str,
        step: str,
        message_type: type[T],
        check: Callable[[T], None] = lambda message: None,
        timeout_s: float | None = None,
    ) -> tuple[T, bytes] | None:
        """As `receive`, and the SHA-256 of the message's bytes; waits `timeout_s` (None: the channel's default)."""
        try:
            message, digest = self._channel.receive_digested(party, step, message_type, timeout_s)
            check(message)
        except PartyStoppedError:
            raise
        except (PartyLostError, ChannelTimeoutError, SealError, WireError, InputError, ProtocolError) as error:
            self._drop(party, step, error)
            return None
        return message, digest

    def left_of(self, parties: Collection[str]) -> tuple[str, ...]:
        """The given parties that still take part."""
        return tuple(party for party in self.parties if party in parties)

    def receive_from_all(
        self,
        step: str,
        message_type: type[T],
        check: Callable[[str, T], None] = lambda party, message: None,
        *,
        among: Collection[str] | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, T]:
        """One message from each (named) party that still takes part; a party that sends no valid message drops out."""
        found = {}
        for party in self.parties if among is None else self.left_of(among):
            message = self.receive(party, step, message_type, partial(check, party), timeout_s)
            if message is not None:
                found[party] = message
        return found

    def receive_alike(
        self,
        step: str,
        message_type: type[T],
        form_of: Callable[[T], Hashable],
        reason: str,
        check: Callable[[str, T], None] = lambda party, message: None,
        *,
        among: Collection[str] | None = None,
    ) -> dict[str, T]:
        """As `receive_from_all`; a party whose message has another form than most parties' is expelled for `reason`."""
        found = self.receive_from_all(step, message_type, check, among=among)
        forms = {party: form_of(message) for party, message in found.items()}
        usual = [form for form, _ in Counter(forms.values()).most_common(1)]
        for party, form in forms.items():
            if form not in usual:
                self.expel(party, reason)
        return {party: message for party, message in found.items() if party not in self._lost}

    def send(self, party: str, step: str, message: Any) -> None:
        """Send to a party; a party that is gone, or accepts no more messages, drops out."""
        try:
            self._channel.send(party, step, message)
        except (PartyLostError, ChannelTimeoutError) as error:
            self._drop(party, step, error)

    def send_to_all(self, step: str, message: Any) -> None:
        """Send to each party that still takes part."""
        with self._channel.encoding_once(message):
            for party in self.parties:
                self.send(party, step, message)

    def expel(self, party: str, reason: str) -> None:
        """Go on without a party that breaks the rules, and tell it the `reason`. Ends a run that bears no drop-outs."""
        if party in self._lost:
            return
        if not self._settings.bears_dropouts:
            raise ProtocolError(f"party {party} cannot take part", got=reason, cure="find out what runs there")
        self._lost[party] = reason
        self._channel.expel(party, reason)

    def describe_lost(self, among: Iterable[str]) -> str:
        """The parties that dropped out, each with why."""
        return "; ".join(f"{party} ({self._lost[party]})" for party in among if party in self._lost) or "nobody"

    def check_enough(self, step: str, least: int, among: Collection[str] | None = None) -> None:
        """Raise ProtocolError, naming the parties that dropped out, where fewer than `least` (of `among`) are left."""
        needed = self._settings.parties if among is None else among
        left = self.left_of(needed)
        if len(left) < least:
            lost = self.describe_lost(needed)
            sampled = len(needed) < len(self._settings.parties)
            has_diverged = not self._diverged.isdisjoint(needed)
            raise (DivergedError if has_diverged else ProtocolError)(
                f"too few parties are left for {step}",
                expected=f"at least {least} of {', '.join(needed) if sampled else len(needed)}",
                got=f"{len(left)}, lost: {lost}",
                cure="training diverged there: lower training.learning_rate, or look for cells of another unit, and "
                "begin a new run"
                if has_diverged
                else "resume from the last checkpoint once they are back: a new session begins",
            )

    def _drop(self, party: str, step: str, error: HekatError) -> None:
        if not self._settings.bears_dropouts:
            raise error
        if isinstance(error, PartyLostError):
            self._lost[party] = f"in step {error.step}: {error.reason}"
            if error.told_reason == DivergedError.__name__:
                self._diverged.add(party)
        else:
            self.expel(party, f"in step {step}: {error}")
