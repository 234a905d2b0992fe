"""Where a message belongs: session, run, step, sequence and both its ends; a signed header has to say exactly that."""

from __future__ import annotations

from typing import NamedTuple

from hekat.channel.sealed_message import SealedHeader
from hekat.errors import SealError


class MessagePlace(NamedTuple):
    """What a party reads now; `sequence` is the next one of this pair of parties."""

    session_id: bytes
    run_id: str
    protocol: str
    step: str
    sequence: int
    sender: str
    receiver: str


def describe_message(sender: str, step: str) -> str:
    """The message, for an error."""
    return f"message of {sender!r} in step {step!r}"


def check_place(header: SealedHeader, here: MessagePlace) -> None:
    """Raise SealError unless the signed header belongs exactly here and now."""
    what = describe_message(here.sender, here.step)
    if header.session_id != here.session_id:
        raise _misplaced(f"the {what} belongs to another session", "this session's id", "another id")
    if (header.run_id, header.protocol) != (here.run_id, here.protocol):
        raise _misplaced(
            f"the {what} belongs to another run or protocol",
            f"run {here.run_id!r}, protocol {here.protocol!r}",
            f"run {header.run_id!r}, protocol {header.protocol!r}",
        )
    if header.receiver != here.receiver:
        raise _misplaced(
            f"the {what} was redirected: it is meant for another party", repr(here.receiver), repr(header.receiver)
        )
    if header.sender != here.sender:
        raise _misplaced(f"the {what} names another sender than its signer", repr(here.sender), repr(header.sender))
    expected = here.sequence
    if header.sequence < expected:
        raise _misplaced(f"the {what} was replayed", f"message {expected} of this pair", f"{header.sequence} again")
    if header.sequence > expected:
        raise _misplaced(
            f"the {what} was reordered, or one before it is missing",
            f"message {expected} of this pair (they are read in the order they are sent)",
            f"{header.sequence}",
        )
    if header.step != here.step:
        raise _misplaced(f"the {what} was made for another step", repr(here.step), repr(header.step))


def _misplaced(what: str, expected: str, got: str) -> SealError:
    return SealError(
        what,
        expected=expected,
        got=got,
        cure="start the run again; if it happens again, somebody is between you and the others",
    )
