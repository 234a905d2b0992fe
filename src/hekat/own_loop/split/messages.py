"""What a host says to the guest before each call of an own loop of a split network, with what each field discloses."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.wire import ciphertext, message, public

FORWARD, EVALUATE, COMPARE, END_EPOCH, LEAVE = "forward", "evaluate", "compare", "end epoch", "leave"


@message("split-loop/call", version=1)
@dataclass(frozen=True)
class SplitCallMessage:
    """Host to guest at each call but `backward`, which always follows `forward`: what the host calls for.

    `epoch` is 0 outside epochs; `batch` counts from 1 in "forward", else it is 0; `row_count` is 0 for calls without
    rows.
    """

    call: str = public()
    epoch: int = public()
    batch: int = public()
    row_count: int = public()


@message("split-loop/masked", version=1)
@dataclass(frozen=True)
class MaskedMessage:
    """Guest to host in `check_same`: the point of the guest's value, 32 bytes."""

    masked: bytes = ciphertext(under="the guest's scalar of this call")


@message("split-loop/compared", version=1)
@dataclass(frozen=True)
class ComparedMessage:
    """Host to guest in `check_same`: the point of the host's value, and the guest's once more, 32 bytes each."""

    masked: bytes = ciphertext(under="the host's scalar of this call")
    answered: bytes = ciphertext(under="the scalars of both: it tells the guest whether both values are the same")


def describe_call(said: SplitCallMessage) -> str:
    """A call in words; a call that cannot be is said to be one."""
    when = f" in epoch {said.epoch}" if said.epoch else ""
    words = {
        FORWARD: f"calls forward for the {said.row_count:,} rows of batch {said.batch}{when}",
        EVALUATE: f"calls evaluate for {said.row_count:,} rows{when}",
        COMPARE: f"calls check_same{when}",
        END_EPOCH: f"ends epoch {said.epoch}",
        LEAVE: f"has ended{when}",
    }
    return words.get(said.call, "calls for something that no release knows")
