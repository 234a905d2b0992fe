"""What a vertical run found, as the plain tables of summary.json; every figure comes from the run itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from hekat.job.vertical_linear.job_file import PROTOCOL, VerticalJob
from hekat.protocol.psi.common_rows import INTERSECTION
from hekat.protocol.vertical.phases import PREDICTION, TRAINING
from hekat.protocol.vertical_linear.batches import batch_count
from hekat.protocol.vertical_linear.exactness_check import StepCheck
from hekat.protocol.vertical_linear.timing_labels import PARTS
from hekat.scheme.bfv import CIPHERTEXT_BYTES
from hekat.summary.convergence import describe_convergence
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import Played, facts_of_run
from hekat.summary.vertical.role_result import Match
from hekat.summary.vertical_linear.caveats import list_vertical_caveats
from hekat.summary.vertical_linear.described_settings import describe_vertical_settings
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun
from hekat.summary.vertical_linear.summary_shape import (
    Bytes,
    Compared,
    EpochExactness,
    IntersectionFacts,
    LearnedFacts,
    PartyFacts,
    Result,
    RoleBytes,
    Seconds,
    VerticalSummary,
)

IDLE, OTHERS = "idle", "others"


def summarise_vertical(
    run: FinishedVerticalRun,
    run_id: str,
    *,
    views: Sequence[PartyView],
    compared: Compared | None = None,
    compared_results: Sequence[Result] = (),
    more_caveats: Sequence[str] = (),
    played: Played = "in turn",
) -> VerticalSummary:
    """The whole of summary.json, of the roles whose results are known here.

    `compared` and `compared_results` are of centralised training, where that was compared.
    """
    job, settings = run.job, run.job.settings
    narrator, epochs = run.narrator, run.epochs
    matches = () if narrator is None else narrator.matches
    by_role = {name: dict(found.seconds_by_step) for name, found in run.results.items()}
    return VerticalSummary(
        **facts_of_run(run_id, job.name, job.digest, played),
        protocol=PROTOCOL,
        settings=describe_vertical_settings(job),
        parties=_describe_parties(run),
        task="classification" if settings.classes is not None else "regression",
        test_rows=matches[1].common if len(matches) > 1 else None,
        test_rows_trained_on=_trained_on(run),
        results=[_own_result(run), *compared_results],
        compared=compared,
        intersection=_describe_match(run, matches, 0) or _nothing_matched(job),
        test_intersection=_describe_match(run, matches, 1),
        prediction_receivers=list(job.prediction.receivers) if len(matches) > 1 else [],
        started_from=None if narrator is None else narrator.started_from,
        epochs=epochs,
        convergence=describe_convergence(
            [epoch["loss"] for epoch in epochs if epoch["loss"] is not None],
            untrained=math.log(2) if settings.task == "logistic" else None,
            stopped_early=len(epochs) < settings.training.epochs,
        ),
        stopped_early=len(epochs) < settings.training.epochs,
        seconds=_seconds(run),
        seconds_by_role=by_role,
        seconds_by_part={name: _parts_of(seconds, run.seconds) for name, seconds in by_role.items()},
        bytes=_bytes(run),
        learned=_learned(run),
        seen=list(views),
        exactness=_checks(run.checks),
        notes=[*more_caveats, *list_vertical_caveats(run, compares_centralised=compared is not None)],
    )


def _trained_on(run: FinishedVerticalRun) -> int:
    return 0 if run.guest is None or run.guest.table is None else run.guest.table.test_rows_trained_on


def _describe_parties(run: FinishedVerticalRun) -> list[PartyFacts]:
    settings = run.job.settings
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


def _own_result(run: FinishedVerticalRun) -> Result:
    is_plain = run.job.settings.protection == "none"
    return Result(
        name="plain vertical" if is_plain else "encrypted vertical",
        kind="plain" if is_plain else "encrypted",
        metrics={} if run.guest is None else run.guest.metrics,
    )


def _describe_match(run: FinishedVerticalRun, matches: Sequence[Match], number: int) -> IntersectionFacts | None:
    """The match of the training rows (`number` 0) or of the test rows (1)."""
    if len(matches) <= number:
        return None
    sizes = {}
    for name, found in run.results.items():
        if found.table is not None:
            sizes[name] = found.table.rows if number == 0 else found.table.test_rows or 0
    return IntersectionFacts(
        kind=run.job.intersection_kind, sizes=sizes, common=matches[number].common, seconds=matches[number].seconds
    )


def _nothing_matched(job: VerticalJob) -> IntersectionFacts:
    """At an arbiter, which learns nothing of rows."""
    return IntersectionFacts(kind=job.intersection_kind, sizes={}, common=0, seconds=0.0)


def _seconds(run: FinishedVerticalRun) -> Seconds:
    phases = {} if run.narrator is None else run.narrator.seconds_by_phase
    return Seconds(
        total=run.seconds,
        intersection=phases.get(INTERSECTION, 0.0),
        training=phases.get(TRAINING, 0.0),
        prediction=phases.get(PREDICTION, 0.0),
    )


def _parts_of(seconds: Mapping[str, float], total: float) -> dict[str, float]:
    """A role's seconds by part; what is left of the session it waited: roles take turns on this machine."""
    parts = {**dict.fromkeys(PARTS.values(), 0.0), INTERSECTION: 0.0, OTHERS: 0.0}
    for step, value in seconds.items():
        parts[step if step == INTERSECTION else PARTS.get(step, OTHERS)] += value
    return {**parts, IDLE: max(0.0, total - sum(parts.values()))}


def _bytes(run: FinishedVerticalRun) -> Bytes:
    settings = run.job.settings
    return Bytes(
        by_role={
            name: RoleBytes(
                sent=found.traffic.sent,
                received=found.traffic.received,
                by_step={kind: asdict(one) for kind, one in found.traffic.by_step.items()},
            )
            for name, found in run.results.items()
        },
        ciphertext_bytes={"paillier": settings.key_bits // 4, "lattice": CIPHERTEXT_BYTES}.get(settings.protection),
    )


def _learned(run: FinishedVerticalRun) -> list[LearnedFacts]:
    """Equations over rows of guest and hosts; the guest's intercept is a column of its own."""
    settings = run.job.settings
    facts = []
    for name in settings.parties:
        found = run.results.get(name)
        if found is None or found.table is None or not found.matches:
            continue
        rows, columns = found.matches[0].common, found.table.columns + (name == settings.guest)
        batches = batch_count(rows, settings.training.batch_rows)
        facts.append(
            LearnedFacts(
                party=name,
                equations=batches * columns if settings.form == "arbiter" else 0,
                rows=rows,
                waived=(settings.column_leak_accepted if name == settings.guest else settings.label_leak_accepted)
                is not None,
            )
        )
    return facts


def _checks(checks: Sequence[StepCheck]) -> list[EpochExactness]:
    """For each epoch the step whose error came nearest to its bound."""
    worst: dict[str, EpochExactness] = {}
    for check in checks:
        epoch = check.step.split("/", 1)[0]
        found = EpochExactness(step=check.step, largest_error=check.largest_error, bound=check.bound)
        before = worst.get(epoch)
        if before is None or found["largest_error"] * before["bound"] > before["largest_error"] * found["bound"]:
            worst[epoch] = found
    return list(worst.values())
