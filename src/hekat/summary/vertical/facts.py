"""What summary.json says of parties, matched rows, bytes and seconds, whatever was trained on columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hekat.protocol.psi.common_rows import INTERSECTION
from hekat.protocol.vertical.phases import PREDICTION, TRAINING
from hekat.summary.vertical.finished_run import FinishedColumnsRun
from hekat.summary.vertical.summary_shape import Bytes, IntersectionFacts, PartyFacts, RoleBytes, Seconds

IDLE, OTHERS = "idle", "others"
Run = FinishedColumnsRun[Any]


def describe_parties(run: Run) -> list[PartyFacts]:
    """Each role, in the order of `run.results`."""
    settings = run.columns_job.settings
    return [
        PartyFacts(
            name=name,
            role="guest" if name == settings.guest else "host" if name in settings.hosts else "arbiter",
            rows=None if found.table is None else found.table.rows,
            columns=None if found.table is None else found.table.columns,
            class_rows=found.class_rows,
        )
        for name, found in run.results.items()
    ]


def describe_training_match(run: Run) -> IntersectionFacts:
    """The match of the training rows; of a role that learns nothing of rows, no rows."""
    return _describe_match(run, 0) or IntersectionFacts(
        kind=run.columns_job.intersection_kind, sizes={}, common=0, seconds=0.0
    )


def describe_test_match(run: Run) -> IntersectionFacts | None:
    """The match of the test rows; None where there are none."""
    return _describe_match(run, 1)


def _describe_match(run: Run, number: int) -> IntersectionFacts | None:
    matches = run.matches
    if len(matches) <= number:
        return None
    sizes = {}
    for name, found in run.results.items():
        if found.table is not None:
            sizes[name] = found.table.rows if number == 0 else found.table.test_rows or 0
    return IntersectionFacts(
        kind=run.columns_job.intersection_kind,
        sizes=sizes,
        common=matches[number].common,
        seconds=matches[number].seconds,
    )


def count_test_rows(run: Run) -> int | None:
    """How many rows were measured on; None for none."""
    return run.matches[1].common if len(run.matches) > 1 else None


def count_trained_on(run: Run) -> int:
    """How many of the test rows are training rows too, as far as the guest can tell."""
    return 0 if run.guest is None or run.guest.table is None else run.guest.table.test_rows_trained_on


def sum_seconds(run: Run) -> Seconds:
    """Seconds of the session and its phases."""
    phases = {} if run.narrator is None else run.narrator.seconds_by_phase
    return Seconds(
        total=run.seconds,
        intersection=phases.get(INTERSECTION, 0.0),
        training=phases.get(TRAINING, 0.0),
        prediction=phases.get(PREDICTION, 0.0),
    )


def seconds_by_part(run: Run, parts: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """By role the seconds of each part of the work; `parts` says to which part a step belongs."""
    return {name: _parts_of(found.seconds_by_step, run.seconds, parts) for name, found in run.results.items()}


def _parts_of(seconds: Mapping[str, float], total: float, parts: Mapping[str, str]) -> dict[str, float]:
    """A role's seconds by part; what is left of the session it waited: roles take turns on this machine."""
    found = {**dict.fromkeys(parts.values(), 0.0), INTERSECTION: 0.0, OTHERS: 0.0}
    for step, value in seconds.items():
        found[step if step == INTERSECTION else parts.get(step, OTHERS)] += value
    return {**found, IDLE: max(0.0, total - sum(found.values()))}


def count_bytes(run: Run, ciphertext_bytes: int | None) -> Bytes:
    """Sealed bytes of each role by kind of step."""
    return Bytes(
        by_role={
            name: RoleBytes(
                sent=found.traffic.sent,
                received=found.traffic.received,
                by_step={kind: asdict(one) for kind, one in found.traffic.by_step.items()},
            )
            for name, found in run.results.items()
        },
        ciphertext_bytes=ciphertext_bytes,
    )
