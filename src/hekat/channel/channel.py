"""What a protocol role sees of the other parties: named steps that carry bytes, and nothing of the network."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Protocol, runtime_checkable

from hekat.channel.dropout_notice import DropoutNotice
from hekat.errors import InputError

MAX_NAME_BYTES = 256
MAX_REASON_CHARACTERS = 1024


@runtime_checkable
class Channel(Protocol):
    """One party's end of the run. Used by one thread at a time; `send` and `receive` block.

    A message is matched by (sender, step). Messages of one sender and one step arrive in the order they were sent.

    A run may bear the dropout of some of its parties: of a party that stopped, or that another party gave up on
    (`expel`). What a lost party sent before can still be received. Waiting for more of it, or sending to it, raises
    PartyLostError at once, also in a call that waits already; the protocol decides what the caller does about it. Where
    a party may not be lost, its stop is everybody's: all others get PartyStoppedError.
    """

    @property
    def party(self) -> str:
        """The party at this end."""
        ...

    @property
    def parties(self) -> tuple[str, ...]:
        """Every party of the run, this one included."""
        ...

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        """Hand `payload` to party `to` for its step `step`; waits for room at most `timeout_s` (None: the default).

        Raises:
            InputError: `to` is no other party of the run, `step` is no step name, `payload` is not bytes, or
                `timeout_s` is not above 0.
            PartyStoppedError: a party has stopped, or `to` has finished and can never read it, or another party
                gave up on this one.
            PartyLostError: `to` is lost.
            ChannelTimeoutError: there was no room for the message within the step's time.
        """
        ...

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        """The next message of party `sender` for step `step`; waits at most `timeout_s` (None: the channel's default).

        Raises:
            InputError: `sender` is no other party of the run, `step` is no step name, `timeout_s` is not above 0.
            PartyStoppedError: a party has stopped, or `sender` has finished without sending it, or another party
                gave up on this one.
            PartyLostError: `sender` is lost, and no such message of it is left.
            ChannelTimeoutError: nothing came within the step's time; names the awaited party and step.
        """
        ...

    def note_saved(self, what: str) -> None:
        """Say what of this party's work is safe by now ("checkpoint of round 3"): told to all if the party stops."""
        ...

    def leave(self, notice: DropoutNotice) -> None:
        """Hand on this end's own word that it leaves by an error, before it does: the others get it with the loss."""
        ...

    def expel(self, party: str, reason: str, notice: DropoutNotice | None = None) -> None:
        """Give up on `party`: this end neither sends to it nor receives from it any more, and it is lost to all.

        That party gets an error with this party's name and `reason`, at its next call or in the call where it waits.
        `reason` is told to every party, so it holds nothing of anybody's data; at most 1024 characters of it, "?" for
        each that does not print. `notice` is the same, signed; it goes with the loss to all. What `party` sent to
        others stays readable to them. Nothing changes where it is lost already, except that what it sent here is
        dropped.

        Raises:
            InputError: `party` is no other party of the run, or may not be lost in it (then raise instead, which ends
                the run); `reason` is empty or no text.
            PartyStoppedError: a party has stopped, or another party gave up on this one.
        """
        ...


def check_name(name: str, what: str) -> None:
    """Raise InputError unless `name` is 1 to 256 bytes of printable text; `what` says whose name it is."""
    if not isinstance(name, str):
        raise InputError(f"not a {what} name", expected="text", got=type(name).__name__)
    # isprintable is false for lone surrogates, so the encoding below cannot fail.
    if not name or not name.isprintable() or len(name.encode()) > MAX_NAME_BYTES:
        raise InputError(
            f"not a {what} name",
            expected=f"printable text of 1 to {MAX_NAME_BYTES} bytes",
            got=f"{len(name)} characters",
        )


def check_step(step: str) -> None:
    """Raise InputError unless `step` is 1 to 256 bytes of printable text."""
    check_name(step, "step")


def printable_reason(reason: str) -> str:
    """`reason` fit to be told: "?" for what does not print, at most 1024 characters, the last of them "..." if cut.

    A reason may quote what the party sent. It is mended and not refused: nobody keeps its place by its own words.
    Raises InputError where there is none.
    """
    if not isinstance(reason, str) or not reason:
        raise InputError("no reason", expected="some text", got="none" if reason == "" else type(reason).__name__)
    shown = "".join(letter if letter.isprintable() else "?" for letter in reason)
    return shown if len(shown) <= MAX_REASON_CHARACTERS else f"{shown[: MAX_REASON_CHARACTERS - 3]}..."


def check_party_names(parties: tuple[str, ...]) -> None:
    """Raise InputError unless there is at least one name, each printable and of 1 to 256 bytes, all distinct."""
    if not parties:
        raise InputError("a run without parties", expected="at least one party name", got="none")
    for party in parties:
        check_name(party, "party")
    repeated = sorted({name for name in parties if parties.count(name) > 1})
    if repeated:
        raise InputError("a party is named twice", expected="distinct names", got=", ".join(repeated))


def check_peer(peer: str, party: str, parties: Collection[str]) -> None:
    """Raise InputError unless `peer` is one of `parties` and not `party` itself.

    Of many parties a dict by their names is asked sooner than the list of them.
    """
    if peer == party or peer not in parties:
        others = ", ".join(name for name in parties if name != party) or "nobody"
        raise InputError(
            "no such peer in this run",
            expected=f"one of: {others}",
            got=f"{peer!r}{' (the party itself)' if peer == party else ''}",
        )


def check_payload(payload: bytes) -> None:
    """Raise InputError unless `payload` is `bytes`: a mutable buffer could change between sealing and sending."""
    if not isinstance(payload, bytes):
        raise InputError("not a payload", expected="bytes", got=type(payload).__name__, cure="bytes(...)")


def check_timeout(timeout_s: float) -> None:
    """Raise InputError unless `timeout_s` is above 0; infinity is allowed."""
    if math.isnan(timeout_s) or timeout_s <= 0:
        raise InputError("not a time-out", expected="seconds above 0", got=f"{timeout_s}")
