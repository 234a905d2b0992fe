"""The spans of a run, its rounds and the steps in them, from what the run writes; times in nanoseconds since 1970."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hekat.live.facts import EventWritten, Fact, LedgerWritten

_TRAINING = "training"
MOST_STEPS = 256
"""Of a round, or before one; further steps are left out and counted."""
_ROUND = re.compile(r"(?:round|epoch|tree)-(\d+)(?:/|$)")
_COUNTERS = ("round", "epoch", "iteration")
"""What events call a round: an epoch of a vertical regression, an iteration of trees."""


@dataclass(frozen=True)
class Span:
    """A time in which something went on, with the spans in it. `attributes` are public settings and counts alone."""

    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, str | int] = field(default_factory=dict)
    inner: tuple[Span, ...] = ()


@dataclass
class SpanBuilder:
    """Takes facts in their order and gives each round with its steps once it is over."""

    _steps: dict[int, dict[tuple[str, str], tuple[int, int]]] = field(default_factory=dict)
    _left_out: dict[int, int] = field(default_factory=dict)
    _ended: dict[str, int] = field(default_factory=dict)

    def take(self, facts: Sequence[Fact]) -> list[Span]:
        """The rounds that `facts` end: each fact's ledger lines belong to the rounds that end with it or later."""
        for fact in facts:
            if isinstance(fact, LedgerWritten) and fact.line.direction in ("sent", "received"):
                found = _ROUND.match(fact.line.step)
                self._see(int(found[1]) if found else 0, fact.line.role, fact.line.step, nanoseconds(fact.line.time))
        events = [fact.event for fact in facts if isinstance(fact, EventWritten)]
        return [span for event in events if (span := self._end_round(event)) is not None]

    def rest(self) -> list[Span]:
        """The steps of no round that ended, at the run's end."""
        return [span for number in sorted(self._steps) for span in self._steps_of(number)]

    def _see(self, number: int, role: str, step: str, time_ns: int) -> None:
        steps = self._steps.setdefault(number, {})
        key = (role, step)
        if key not in steps and len(steps) >= MOST_STEPS:
            self._left_out[number] = self._left_out.get(number, 0) + 1
            return
        first, last = steps.get(key, (time_ns, time_ns))
        steps[key] = (min(first, time_ns), max(last, time_ns))

    def _end_round(self, event: Mapping[str, object]) -> Span | None:
        counter = event.get("event")
        if counter not in _COUNTERS:
            return None
        number, phase, time = event.get(counter), event.get("phase", _TRAINING), event.get("time")
        if not (isinstance(number, int) and isinstance(phase, str) and isinstance(time, str)):
            return None
        end = nanoseconds(time)
        sends = phase not in ("plain", "alone")
        inner = self._steps_of(number) if sends else ()
        begun = min((span.start_ns for span in inner), default=self._ended.get(phase, end))
        self._ended[phase] = end
        attributes: dict[str, str | int] = {"hekat.phase": phase, "hekat.round": number}
        if left_out := self._left_out.pop(number, 0):
            attributes["hekat.messages_left_out"] = left_out
        return Span("hekat.round", min(begun, end), end, attributes, inner)

    def _steps_of(self, number: int) -> tuple[Span, ...]:
        return tuple(
            Span("hekat.step", first, last, {"hekat.role": role, "hekat.step": step})
            for (role, step), (first, last) in self._steps.pop(number, {}).items()
        )


def nanoseconds(time: str) -> int:
    """A time in ISO form since 1970; 0 for a text that is none."""
    try:
        since = datetime.fromisoformat(time) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, TypeError):
        return 0
    return 1000 * ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
