"""Sealed bytes of a role: of a whole run by kind of step, and of one sum with what openers of sums need apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from hekat.protocol.role_session import RoleSession

# What the messages of a step, or of a group of steps (`group_of`, `group_over_rounds`), are for, by its name; the
# first that fits. What fits none begins or ends a session.
_KINDS = (
    ("bounds", re.compile(r"(?:fold-\d+/)?round-\d+/(?:exponents(?:/|$)|range$|clip$)")),
    ("agreement", re.compile(r"(?:(?:fold-\d+/)?round-\d+|(?:start|tree-\d+)/[a-z]+(?:-\d+)?)/(?:end|agreed)$")),
    ("sums", re.compile(r"(?:fold-\d+/)?round-\d+/")),
    ("categories", re.compile(r"categories/")),
    ("fill", re.compile(r"fill/")),
    ("standardise", re.compile(r"standardise/")),
    ("validation", re.compile(r"(?:fold-\d+/)?validation/")),
    ("bins", re.compile(r"start/")),
    ("histograms", re.compile(r"tree-\d+/level-\d+/")),
    ("leaves", re.compile(r"tree-\d+/leaves/")),
    ("losses", re.compile(r"final/loss")),
    # What the aggregator receives under one step for all sums of a group; parties count it by sum (`counted_step`).
    ("sums", re.compile(r"fold-\d+/further$")),
    ("histograms", re.compile(r"tree-\d+/further$")),
)
_OTHERS = "session"
_ROUND = re.compile(r"(?:fold-(\d+)/)?round-(\d+)/")


@dataclass(frozen=True)
class StepBytes:
    """To and from the aggregator, and to and from everybody else: of a party, those who open sums."""

    up: int = 0
    down: int = 0
    shares_out: int = 0
    shares_in: int = 0


@dataclass(frozen=True)
class Traffic:
    """Sealed bytes of one role, hellos and signatures included; `by_step` by kind of step."""

    sent_bytes: int
    received_bytes: int
    by_step: dict[str, StepBytes] = field(default_factory=dict)


@dataclass(frozen=True)
class SumTraffic:
    """Sealed bytes of one party for one round's sum: what the aggregator gets and gives, and what openers do."""

    up_bytes: int = 0
    down_bytes: int = 0
    to_openers_bytes: int = 0
    from_openers_bytes: int = 0


def traffic_of(session: RoleSession, aggregator: str) -> Traffic:
    """All that this role sent and received."""
    totals: dict[str, list[int]] = {}
    for (peer, step), traffic in session.traffic.items():
        total = totals.setdefault(_kind_of(step), [0, 0, 0, 0])
        first = 0 if peer == aggregator else 2
        total[first] += traffic.sent_bytes
        total[first + 1] += traffic.received_bytes
    by_step = {kind: StepBytes(*total) for kind, total in totals.items()}
    return Traffic(session.sent_bytes, session.received_bytes, by_step)


def sum_traffic_of(session: RoleSession, aggregator: str, round_number: int) -> SumTraffic | None:
    """What the sum of that round took; the histogram of exponents before the first one is a sum of its own.

    Of a session that was resumed after it, the last round of a fold; None where there was no round at all.
    """
    rounds = {
        found[0]: tuple(map(int, found.groups("0"))) for _, name in session.traffic if (found := _ROUND.match(name))
    }
    if not rounds:
        return None
    step = f"round-{round_number}/"
    step = step if step in rounds else max(rounds, key=rounds.__getitem__)
    totals = {True: [0, 0], False: [0, 0]}
    for (peer, name), traffic in session.traffic.items():
        if name.startswith(step) and not f"{name}/".startswith(f"{step}exponents/"):
            total = totals[peer == aggregator]
            total[0] += traffic.sent_bytes
            total[1] += traffic.received_bytes
    return SumTraffic(*totals[True], *totals[False])


# All parties of a run have the same steps.
@lru_cache(maxsize=4096)
def _kind_of(step: str) -> str:
    return next((kind for kind, pattern in _KINDS if pattern.match(step)), _OTHERS)
