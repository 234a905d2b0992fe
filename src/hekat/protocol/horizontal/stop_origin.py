"""Finds the party whose failure ended a run with too few parties left."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.channel.departure import FailureElsewhereError
from hekat.errors import (
    BoundError,
    ChannelError,
    DivergedError,
    HekatError,
    PartyLostError,
    PartyStoppedError,
    ProtocolError,
)


def trace_to_origin(error: PartyStoppedError, dropouts: Sequence[PartyLostError], aggregator: str) -> PartyStoppedError:
    """The stop of the last party that raised by itself, where too few parties were left after it; else `error`.

    The aggregator's error stands for a dropout on the way (a `ChannelError`), for parties that the aggregator gave up
    on, and for sums that do not open.
    """
    before = [dropout for dropout in dropouts if not dropout.after_stop]
    if not before or error.party != aggregator or not _is_raised(error.__cause__, ProtocolError, DivergedError):
        return error
    last = before[-1]
    is_told = _is_raised(last.__cause__, BoundError, ChannelError, ProtocolError)
    if last.__cause__ is None or (is_told and not _is_raised(last.__cause__, DivergedError)):
        return error
    stop = PartyStoppedError(last.what, party=last.party, step=last.step, saved=error.saved)
    stop.__cause__ = last.__cause__
    return stop


def _is_raised(cause: BaseException | None, *kinds: type[HekatError]) -> bool:
    """Whether the cause is of these kinds, raised here or told by its kind from another process."""
    return issubclass(cause.kind if isinstance(cause, FailureElsewhereError) else type(cause), kinds)
