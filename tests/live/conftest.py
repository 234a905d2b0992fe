"""A run as it tells itself, without one: snapshots, ledger lines, events."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from hekat.live.facts import Fact
from hekat.live.reduce import advance
from hekat.live.state import LedgerLine, LiveState, Participant, RunHead, Tells

ROLES = ("north", "east", "south", "hub")


def make_state(own: tuple[str, ...] = ROLES, protocol: str = "horizontal", **changes) -> LiveState:
    head = RunHead("clinics", protocol, "lattice", "in turn", own, "hub")
    return LiveState(head, participants=tuple(Participant(name, name == "hub") for name in ROLES), **changes)


def ledger_line(
    role: str, direction: str, step: str = "round-1/upload-4/dealt", peer: str = "hub", **changes
) -> LedgerLine:
    told = {"tells": (Tells("disclosed", "a keyed digest", 32), Tells("public", "", 8)), "payload_bytes": 60, **changes}
    time = told.pop("time", "2026-01-02T10:00:03.000000+00:00")
    return LedgerLine(role, time, direction, peer, step, "horizontal/dealt", **told)


def round_event(number: int, phase: str = "encrypted", second: int = 5, **changes) -> dict:
    time = f"2026-01-02T10:00:{second:02d}.000+00:00"
    return {
        "time": time,
        "event": "round",
        "phase": phase,
        "round": number,
        "loss": 0.5,
        "metrics": {"auc": 0.9},
        **changes,
    }


def started_event() -> dict:
    return {
        "time": "2026-01-02T10:00:00.000+00:00",
        "event": "started",
        "run_id": "20260102T100000Z-0123ab",
        "hekat": "0.2.0",
    }


def play(state: LiveState, facts: Iterable[Fact]) -> LiveState:
    for fact in facts:
        state = advance(state, fact)
    return state


@pytest.fixture
def state() -> LiveState:
    return make_state()
