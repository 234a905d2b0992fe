"""Sealed bytes of one role of a vertical run, by kind of step."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hekat.protocol.role_session import RoleSession

_NUMBER = re.compile(r"(?:(?:round|epoch|batch|column|part|tree|level|class)-\d+|(?<=/)\d+)/?")


@dataclass(frozen=True)
class StepTraffic:
    """What a role sent and received in all steps of one kind."""

    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class RoleTraffic:
    """Bytes of a whole run, hellos and signatures included; `by_step` by kind of step, the largest first."""

    sent: int
    received: int
    by_step: dict[str, StepTraffic] = field(default_factory=dict)


def role_traffic_of(session: RoleSession) -> RoleTraffic:
    """All that this role sent and received."""
    totals: dict[str, StepTraffic] = {}
    for (_, step), traffic in session.traffic.items():
        kind = kind_of_step(step)
        before = totals.get(kind, StepTraffic())
        totals[kind] = StepTraffic(before.sent + traffic.sent_bytes, before.received + traffic.received_bytes)
    largest_first = sorted(totals.items(), key=lambda item: -(item[1].sent + item[1].received))
    return RoleTraffic(session.sent_bytes, session.received_bytes, dict(largest_first))


def kind_of_step(step: str) -> str:
    """A step without its numbers: "epoch-3/batch-2/gradient" is of the kind "gradient"; opening and ending is of the
    kind "session", and of nothing but numbers of the last kind of number: "tree-3/level-2" of "level"."""
    if step.startswith("hekat/"):
        return "session"
    named = _NUMBER.sub("", step).strip("/")
    if named or "/" not in step:
        return named or step
    return step.rsplit("/", 1)[1].rsplit("-", 1)[0]
