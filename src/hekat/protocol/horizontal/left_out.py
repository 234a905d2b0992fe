"""Whom a group of sums goes on without because members released for it before, in a run that stopped after that.

Members open no second set of parties in a group, ever. Without this a run that is resumed with a party that was lost
could not pass that group: it would begin it with all parties, and every member would refuse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.lattice_messages import LeftOutMessage
from hekat.protocol.horizontal.opening.upload_context import group_of
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.standardise import STANDARDISE_STEPS
from hekat.protocol.horizontal.upload_state import UploadState


def tell_left_out(channel: RecordedChannel, settings: HorizontalSettings, state: UploadState, rounds_done: int) -> None:
    """A member tells the aggregator, before the first sum, whom its record leaves out of what is still ahead."""
    message = LeftOutMessage(state.left_out(groups_ahead(settings, rounds_done)))
    channel.send(settings.aggregator, "left-out", message)


def groups_ahead(settings: HorizontalSettings, rounds_done: int) -> list[str]:
    """The groups of all sums of a run that begins after so many rounds."""
    first = [group_of(STANDARDISE_STEPS[0])] if rounds_done == 0 and settings.training.standardise else []
    return first + [f"round-{number}" for number in range(rounds_done + 1, settings.training.round_count + 1)]


def check_left_out(message: LeftOutMessage, settings: HorizontalSettings, least: int) -> None:
    """Raise InputError where a member cannot have released so: for other parties, or for fewer than `least`."""
    for names in message.groups.values():
        if not set(names) <= set(settings.parties) or len(set(names)) != len(names):
            raise InputError("a group without parties that are none", expected="parties of the job", got="others")
        if len(settings.parties) - len(names) < least:
            raise InputError(
                "a group that was opened without too many parties",
                expected=f"at most {len(settings.parties) - least} left out",
                got=f"{len(names)}",
            )


def choose_left_out(told: Iterable[LeftOutMessage]) -> Mapping[str, tuple[str, ...]]:
    """For every group whom to leave out: what most members say of it, of those that say anything.

    A member whose record says otherwise will not release. Who lies here can have parties left out, as by lying about
    their shares; it learns nothing by that.
    """
    claims: dict[str, Counter[tuple[str, ...]]] = {}
    for message in told:
        for group, names in message.groups.items():
            claims.setdefault(group, Counter())[tuple(sorted(names))] += 1
    return {group: counts.most_common(1)[0][0] for group, counts in claims.items()}
