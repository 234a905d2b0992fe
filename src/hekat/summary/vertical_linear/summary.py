"""What a vertical run found, as the plain tables of summary.json; every figure comes from the run itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from hekat.data import Table
from hekat.job.vertical_linear.job_file import PROTOCOL, VerticalJob
from hekat.launch.vertical_linear.centralised import Comparison
from hekat.launch.vertical_linear.federation import PREDICTION, TRAINING, PartyOutcome, VerticalFederation
from hekat.protocol.psi.common_rows import INTERSECTION
from hekat.protocol.vertical_linear.batches import batch_count
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.protocol.vertical_linear.timing_labels import PARTS
from hekat.scheme.bfv import CIPHERTEXT_BYTES
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import facts_of_run
from hekat.summary.vertical_linear.caveats import list_vertical_caveats
from hekat.summary.vertical_linear.described_settings import describe_vertical_settings
from hekat.summary.vertical_linear.metrics_of_scores import labels_of, metrics_of_scores
from hekat.summary.vertical_linear.summary_shape import (
    Bytes,
    EpochExactness,
    EpochFacts,
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
    federation: VerticalFederation,
    outcomes: Mapping[str, PartyOutcome],
    epochs: Sequence[EpochFacts],
    views: Sequence[PartyView],
    comparison: Comparison | None,
) -> VerticalSummary:
    """The whole of summary.json of a machine that plays all roles."""
    inputs, job = federation.inputs, federation.inputs.job
    settings = job.settings
    guest = outcomes[settings.guest]
    by_role = {name: dict(watch.seconds) for name, watch in federation.stopwatches.items()}
    return VerticalSummary(
        **facts_of_run(federation.run_id, job.name, job.digest),
        protocol=PROTOCOL,
        settings=describe_vertical_settings(job),
        parties=_describe_parties(federation, guest),
        task="classification" if settings.classes is not None else "regression",
        test_rows=None if guest.test_rows is None else len(guest.test_rows),
        results=[_own_result(job, guest), *([] if comparison is None else comparison.results)],
        compared=None if comparison is None else comparison.compared,
        intersection=_describe_match(federation, inputs.tables, guest.rows, 0),
        test_intersection=None
        if guest.test_rows is None
        else _describe_match(federation, inputs.test_tables, guest.test_rows, 1),
        prediction_receivers=list(job.prediction.receivers) if guest.test_rows is not None else [],
        started_from=federation.started_from,
        epochs=list(epochs),
        stopped_early=len(epochs) < settings.training.epochs,
        seconds=_seconds(federation),
        seconds_by_role=by_role,
        seconds_by_part={name: _parts_of(seconds, federation.seconds) for name, seconds in by_role.items()},
        bytes=_bytes(federation),
        learned=_learned(job, outcomes),
        seen=list(views),
        exactness=_checks(federation.exactness_check),
        notes=list_vertical_caveats(federation, outcomes),
    )


def _describe_parties(federation: VerticalFederation, guest: PartyOutcome) -> list[PartyFacts]:
    settings, tables = federation.inputs.job.settings, federation.inputs.tables
    found = []
    for name in settings.everyone:
        table = tables.get(name)
        found.append(
            PartyFacts(
                name=name,
                role="guest" if name == settings.guest else "host" if name in settings.hosts else "arbiter",
                rows=None if table is None else len(table),
                columns=None if table is None else int(table.features.shape[1]),
                class_rows=_class_rows(guest.rows, settings.classes) if name == settings.guest else None,
            )
        )
    return found


def _class_rows(table: Table, classes: tuple[str, ...] | None) -> dict[str, int] | None:
    if classes is None:
        return None
    counts = Counter(labels_of(table, classes).tolist())
    return {label: counts.get(number, 0) for number, label in enumerate(classes)}


def _own_result(job: VerticalJob, guest: PartyOutcome) -> Result:
    classes = job.settings.classes
    metrics = {}
    if guest.test_rows is not None and guest.scores is not None:
        metrics = metrics_of_scores(classes, guest.scores, labels_of(guest.test_rows, classes))
    is_plain = job.settings.protection == "none"
    return Result(
        name="plain vertical" if is_plain else "encrypted vertical",
        kind="plain" if is_plain else "encrypted",
        metrics=metrics,
    )


def _describe_match(
    federation: VerticalFederation, tables: Mapping[str, Table], rows: Table, number: int
) -> IntersectionFacts:
    """Of the training rows, `number` 0, or of the test rows, 1."""
    return IntersectionFacts(
        kind=federation.inputs.job.intersection_kind,
        sizes={name: len(table) for name, table in tables.items()},
        common=len(rows),
        seconds=federation.matching_s[number],
    )


def _seconds(federation: VerticalFederation) -> Seconds:
    phases = federation.phases.seconds
    return Seconds(
        total=federation.seconds,
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


def _bytes(federation: VerticalFederation) -> Bytes:
    settings = federation.inputs.job.settings
    return Bytes(
        by_role={
            name: RoleBytes(
                sent=traffic.sent,
                received=traffic.received,
                by_step={kind: asdict(found) for kind, found in traffic.by_step.items()},
            )
            for name, traffic in federation.traffic.items()
        },
        ciphertext_bytes={"paillier": settings.key_bits // 4, "lattice": CIPHERTEXT_BYTES}.get(settings.protection),
    )


def _learned(job: VerticalJob, outcomes: Mapping[str, PartyOutcome]) -> list[LearnedFacts]:
    """Equations over rows of guest and hosts; the guest's intercept is a column of its own."""
    settings = job.settings
    found = []
    for name in settings.parties:
        rows = outcomes[name].rows
        columns = rows.features.shape[1] + (name == settings.guest)
        batches = batch_count(len(rows), settings.training.batch_rows)
        found.append(
            LearnedFacts(
                party=name,
                equations=batches * int(columns) if settings.form == "arbiter" else 0,
                rows=len(rows),
                waived=(settings.column_leak_accepted if name == settings.guest else settings.label_leak_accepted)
                is not None,
            )
        )
    return found


def _checks(exactness_check: ExactnessCheck | None) -> list[EpochExactness]:
    """Of each epoch the step whose error came nearest to its bound."""
    worst: dict[str, EpochExactness] = {}
    for check in exactness_check.checks if exactness_check is not None else ():
        epoch = check.step.split("/", 1)[0]
        found = EpochExactness(step=check.step, largest_error=check.largest_error, bound=check.bound)
        before = worst.get(epoch)
        if before is None or found["largest_error"] * before["bound"] > before["largest_error"] * found["bound"]:
            worst[epoch] = found
    return list(worst.values())
