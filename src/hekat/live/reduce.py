"""The reducer: the snapshot after one more thing that the run says. Pure; what it does not know it leaves out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from hekat.ledger.recorded_channel import EXPEL_STEP
from hekat.live.facts import (
    EventWritten,
    Fact,
    LedgerWritten,
    MachineRead,
    PartyLost,
    PhaseAdvanced,
    PhaseBegun,
    RoleRead,
    RunEnded,
    TimePassed,
    WorkReached,
)
from hekat.live.state import Dropout, LedgerLine, LiveState, Participant, Phase, RoundPoint, Seen, Step, Work

MOST_LINES = 15
MOST_WORKS = 12
MOST_DROPOUTS = 200
MOST_SEEN = 60
MOST_ROUNDS = 600
_GIVEN_UP = re.compile(r"gave up on '(?P<party>.*)'")
# Comparisons send nothing, so they count no rounds of plain numbers.
_COMPARISONS = ("plain", "alone")


def advance(state: LiveState, fact: Fact) -> LiveState:
    """The state after `fact`."""
    match fact:
        case EventWritten():
            return _take_event(state, fact.event)
        case LedgerWritten():
            return _take_line(state, fact.line)
        case PhaseBegun():
            return replace(state, phase=Phase(fact.name, 0, fact.total))
        case PhaseAdvanced():
            phase = state.phase
            if phase is None or phase.name != fact.name:
                return state
            return replace(state, phase=replace(phase, done=min(phase.total, phase.done + 1)))
        case WorkReached():
            others = tuple(work for work in state.works if work.name != fact.name)
            return replace(state, works=(*others, Work(fact.name, fact.done, fact.total))[-MOST_WORKS:])
        case PartyLost():
            return _lose(state, fact.party, fact.step, fact.reason)
        case RoleRead():
            roles = {work.role: work for work in state.roles} | {fact.work.role: fact.work}
            return replace(state, roles=tuple(roles.values()))
        case MachineRead():
            return replace(state, machine=fact.machine)
        case TimePassed():
            return replace(state, now=fact.now)
        case RunEnded():
            return _end(state, fact.stopped_by)


def _take_event(state: LiveState, event: Mapping[str, Any]) -> LiveState:
    match event.get("event"):
        case "started":
            run = replace(
                state.run,
                run_id=_text(event.get("run_id")),
                started_at=_text(event.get("time")),
                release=_text(event.get("hekat")),
            )
            return replace(state, run=run, status="running")
        case "test data":
            known = event.get("is_trained_on")
            return replace(state, run=replace(state.run, tests_trained_on=known)) if type(known) is bool else state
        case "round":
            return _take_round(state, event, "round", _text(event.get("phase")))
        case "epoch" | "iteration" as step:
            return _take_round(state, event, step, _text(event.get("phase")) or "training")
        case "validation":
            return _take_final(state, event)
        case "lost":
            return _lose(state, _text(event.get("party")), _text(event.get("step")), _text(event.get("reason")))
        case _:
            return state


def _take_round(state: LiveState, event: Mapping[str, Any], counter: str, phase: str) -> LiveState:
    number = event.get(counter)
    if not isinstance(number, int):
        return state
    time = _text(event.get("time"))
    before = next((one.time for one in reversed(state.rounds) if one.phase == phase), "")
    point = RoundPoint(
        phase,
        number,
        _number(event.get("loss")),
        time,
        _numbers(event.get("metrics")),
        _numbers(event.get("validation")),
        _seconds_between(before, time),
    )
    main = phase not in _COMPARISONS or state.run.protection == "none"
    return replace(
        state,
        rounds=_thinned((*state.rounds, point)),
        rounds_sent=state.rounds_sent + (1 if main else 0),
    )


def _take_final(state: LiveState, event: Mapping[str, Any]) -> LiveState:
    """What the final model of a phase was measured to be, after its last round."""
    done = event.get("rounds", event.get("iterations"))
    if not isinstance(done, int):
        return state
    phase, time = _text(event.get("phase")), _text(event.get("time"))
    loss, validation = _number(event.get("loss")), _numbers(event.get("metrics"))
    point = RoundPoint(phase, done + 1, loss, time, validation=validation, is_final=True)
    return replace(state, rounds=_thinned((*state.rounds, point)))


def _thinned(rounds: tuple[RoundPoint, ...]) -> tuple[RoundPoint, ...]:
    """All rounds, or every second one and the newest where they are too many for a snapshot."""
    return rounds if len(rounds) <= MOST_ROUNDS else (*rounds[:-1:2], rounds[-1])


def _take_line(state: LiveState, line: LedgerLine) -> LiveState:
    participants = state.participants
    step = state.step
    if line.direction == "opened":
        # A session opens once every role has said hello to every other one.
        participants = tuple(_meet(one) for one in participants)
    if line.direction in ("sent", "received"):
        group, _, part = line.step.rpartition("/")
        step = Step(line.role, group.split("/upload-")[0] or part, part if group else "", line.time)
    if line.direction == "received":
        participants = tuple(
            replace(one, last_heard=line.time) if one.name == line.peer else one for one in participants
        )
    state = replace(
        state,
        participants=participants,
        step=step,
        ledger=(line, *state.ledger)[:MOST_LINES],
        ledger_lines=state.ledger_lines + 1,
        seen=_see(state, line),
    )
    if line.direction == "note" and line.step == EXPEL_STEP:
        for told in line.tells:
            if found := _GIVEN_UP.match(told.what):
                state = _lose(state, found["party"], line.step, "")
    return state


def _see(state: LiveState, line: LedgerLine) -> tuple[Seen, ...]:
    central, own = state.run.central, state.run.own_roles
    if central is None:
        return state.seen
    is_seen = (
        line.role == central and line.direction == "received"
        if central in own
        else line.peer == central and line.direction == "sent"
    )
    if not is_seen:
        return state.seen
    rows = {(one.how, one.kind, one.what): one for one in state.seen}
    for told in line.tells:
        key = (told.how, line.kind, told.what)
        before = rows.get(key, Seen(*key, 0, 0))
        if key in rows or len(rows) < MOST_SEEN:
            count = before.message_count + 1
            rows[key] = replace(before, message_count=count, byte_count=before.byte_count + told.byte_count)
    return tuple(rows.values())


def _meet(one: Participant) -> Participant:
    return replace(one, presence="present") if one.presence == "awaited" else one


def _lose(state: LiveState, party: str, step: str, reason: str) -> LiveState:
    lost = tuple(replace(one, presence="lost") if one.name == party else one for one in state.participants)
    if any(one.party == party for one in state.dropouts):
        return replace(state, participants=lost)
    return replace(state, participants=lost, dropouts=(*state.dropouts, Dropout(party, step, reason))[-MOST_DROPOUTS:])


def _end(state: LiveState, stopped_by: str) -> LiveState:
    ended = tuple(replace(one, presence="ended") if one.presence == "present" else one for one in state.participants)
    return replace(state, status="stopped" if stopped_by else "finished", stopped_by=stopped_by, participants=ended)


def _seconds_between(first: str, last: str) -> float | None:
    try:
        return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())
    except (ValueError, TypeError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _numbers(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        return {}
    return {str(name): number for name, one in value.items() if (number := _number(one)) is not None}
