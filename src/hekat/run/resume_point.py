"""Where roles that play apart go on after a stop: each offers what it has saved, and all take the last that all have.

Roles save one after the other, so that a run may stop when some have saved a round and some have not. Offers are
exchanged before the session, unsigned: they hold nothing but numbers. A relay that alters one takes the roles back by a
round, or makes them disagree, which their session tells. That all hold the same model the protocol compares itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from hekat.channel import Channel
from hekat.errors import StateError

_STEP = "resume/offer"
_MOST_POINTS, _MOST_NUMBER = 8, 10**9
_BEGIN_ANEW = "resume at every site from folders of one run, or begin a new run"


class ResumePoint(NamedTuple):
    """`number` of rounds or epochs done; whether training has ended there, and the model been validated."""

    number: int
    finished: bool = False
    validated: bool = False


def agree_on_point(channel: Channel, offers: Collection[ResumePoint], parties: Collection[str]) -> ResumePoint:
    """The last point that all `parties` offer; roles that keep no checkpoints offer none.

    Every role of the channel calls it. Raises StateError where parties have no point in common, and names them.
    """
    content = json.dumps(sorted(list(point) for point in offers)).encode()
    others = [role for role in channel.parties if role != channel.party]
    for role in others:
        channel.send(role, _STEP, content)
    received = {role: _decode(role, channel.receive(role, _STEP)) for role in others}
    offered = {role: points for role, points in {**received, channel.party: set(offers)}.items() if role in parties}
    common = set.intersection(*offered.values())
    if not common:
        raise StateError(
            "the parties cannot resume from one point",
            expected="a round or epoch that every party has saved",
            got=_say(offered),
            cure=_BEGIN_ANEW,
        )
    return max(common)


def _decode(role: str, content: bytes) -> set[ResumePoint]:
    try:
        points = {ResumePoint(*entry) for entry in json.loads(content)}
        if len(points) > _MOST_POINTS or not all(_is_point(point) for point in points):
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise StateError(
            f"{role!r} says nothing of where it resumes",
            expected="the rounds that it has saved",
            got="something else",
            cure="install one release at every site, and resume the same run everywhere",
        ) from None
    return points


def _is_point(point: ResumePoint) -> bool:
    number, *flags = point
    is_number = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST_NUMBER
    return is_number and all(isinstance(flag, bool) for flag in flags)


def _say(offered: Mapping[str, set[ResumePoint]]) -> str:
    return "; ".join(
        f"{role}: {', '.join(str(point.number) for point in sorted(points)) or 'none'}"
        for role, points in sorted(offered.items())
    )
