"""Where roles that play apart go on after a stop: each offers what it has saved, and all take the last that all have.

Roles save one after the other, so that a run may stop when some have saved a round and some have not. Offers are
exchanged before the session, unsigned: they hold nothing but numbers. A relay that alters one takes the roles back by a
round, or makes them disagree, which their session tells. That all hold the same model the protocol compares itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from hekat.channel import Channel
from hekat.errors import StateError

_STEP = "resume/offer"
_MOST_POINTS, _MOST_NUMBER = 8, 10**9
_BEGIN_ANEW = "resume at every site from folders of one run, or begin a new run"


class ResumePoint(NamedTuple):
    """`number` of rounds or epochs done; whether training has ended there, and the model been validated; how many folds
    of a cross-validation are done."""

    number: int
    finished: bool = False
    validated: bool = False
    folds: int = 0


def agree_on_point(
    channel: Channel,
    offers: Collection[ResumePoint],
    parties: Collection[str],
    doubtful: Collection[ResumePoint] = (),
) -> ResumePoint:
    """The last point that all `parties` offer; roles that keep no checkpoints offer none.

    `doubtful` are points that this role has besides, where it was told that models differ. Where no other point is
    common, such a one is taken that another party went on from: parties went on from it only with one model.

    Every role of the channel calls it. Raises StateError where parties have no point in common, and names them.
    """
    own = dict.fromkeys(doubtful, True) | dict.fromkeys(offers, False)
    content = json.dumps(sorted(_encode(point, is_doubtful=own[point]) for point in own)).encode()
    others = [role for role in channel.parties if role != channel.party]
    for role in others:
        channel.send(role, _STEP, content)
    received = {role: _decode(role, channel.receive(role, _STEP)) for role in others}
    offered = {role: points for role, points in {**received, channel.party: own}.items() if role in parties}
    common = _common([_sure(points) for points in offered.values()])
    if not common:
        furthest = max((point.number for points in offered.values() for point in _sure(points)), default=0)
        common = {point for point in _common(offered.values()) if point.number < furthest}
    if not common:
        raise StateError(
            "the parties cannot resume from one point",
            expected="a round or epoch that every party has saved",
            got=_say(offered),
            cure=_BEGIN_ANEW,
        )
    return max(common)


def _common(offered: Iterable[Collection[ResumePoint]]) -> set[ResumePoint]:
    return set.intersection(*(set(points) for points in offered))


def _sure(points: Mapping[ResumePoint, bool]) -> list[ResumePoint]:
    return [point for point, is_doubtful in points.items() if not is_doubtful]


def _encode(point: ResumePoint, *, is_doubtful: bool) -> list[int | bool]:
    """As older releases read it: the first three, and whether it is doubtful where it is. Folds come after that."""
    number, finished, validated, folds = point
    return [number, finished, validated, *([is_doubtful, folds] if folds else [True] if is_doubtful else [])]


def _decode(role: str, content: bytes) -> dict[ResumePoint, bool]:
    """The points, and whether each is doubtful there."""
    try:
        entries = json.loads(content)
        points = {ResumePoint(*entry[:3], *entry[4:]): entry[3:4] == [True] for entry in entries}
        if len(points) > _MOST_POINTS or not all(_is_point(point) for point in points):
            raise ValueError
        if entries != [_encode(point, is_doubtful=points[point]) for point in points]:
            raise ValueError
    except (ValueError, TypeError, LookupError, RecursionError):
        raise StateError(
            f"{role!r} says nothing of where it resumes",
            expected="the rounds that it has saved",
            got="something else",
            cure="install one release at every site, and resume the same run everywhere",
        ) from None
    return points


def _is_point(point: ResumePoint) -> bool:
    are_numbers = all(
        isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST_NUMBER
        for number in (point.number, point.folds)
    )
    return are_numbers and isinstance(point.finished, bool) and isinstance(point.validated, bool)


def _say(offered: Mapping[str, Mapping[ResumePoint, bool]]) -> str:
    return "; ".join(
        f"{role}: {', '.join(str(point.number) for point in sorted(_sure(points))) or 'none'}"
        for role, points in sorted(offered.items())
    )
