"""What a vertical run found, as the plain tables of summary.json; every figure comes from the run itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.protocol.vertical.batches import batch_count
from hekat.protocol.vertical_linear.exactness_check import StepCheck
from hekat.protocol.vertical_linear.timing_labels import PARTS
from hekat.scheme.bfv import CIPHERTEXT_BYTES
from hekat.summary.convergence import describe_convergence
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import Played, facts_of_run
from hekat.summary.vertical.facts import (
    count_bytes,
    count_test_rows,
    count_trained_on,
    describe_parties,
    describe_test_match,
    describe_training_match,
    seconds_by_part,
    sum_seconds,
)
from hekat.summary.vertical_linear.caveats import list_vertical_caveats
from hekat.summary.vertical_linear.described_settings import describe_vertical_settings
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun
from hekat.summary.vertical_linear.summary_shape import Compared, EpochExactness, LearnedFacts, Result, VerticalSummary


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
    matches = run.matches
    is_plain = settings.protection == "none"
    own_result = Result(
        name="plain vertical" if is_plain else "encrypted vertical",
        kind="plain" if is_plain else "encrypted",
        metrics={} if run.guest is None else run.guest.metrics,
    )
    ciphertext_bytes = {"paillier": settings.key_bits // 4, "lattice": CIPHERTEXT_BYTES}
    by_role = {name: dict(found.seconds_by_step) for name, found in run.results.items()}
    return VerticalSummary(
        **facts_of_run(run_id, job.name, job.digest, played),
        protocol=PROTOCOL,
        settings=describe_vertical_settings(job),
        parties=describe_parties(run),
        task="classification" if settings.classes is not None else "regression",
        test_rows=count_test_rows(run),
        test_rows_trained_on=count_trained_on(run),
        results=[own_result, *compared_results],
        compared=compared,
        intersection=describe_training_match(run),
        test_intersection=describe_test_match(run),
        prediction_receivers=list(job.prediction.receivers) if len(matches) > 1 else [],
        started_from=None if narrator is None else narrator.started_from,
        epochs=epochs,
        convergence=describe_convergence(
            [epoch["loss"] for epoch in epochs if epoch["loss"] is not None],
            untrained=math.log(2) if settings.task == "logistic" else None,
            stopped_early=len(epochs) < settings.training.epochs,
        ),
        stopped_early=len(epochs) < settings.training.epochs,
        seconds=sum_seconds(run),
        seconds_by_role=by_role,
        seconds_by_part=seconds_by_part(run, PARTS),
        bytes=count_bytes(run, ciphertext_bytes.get(settings.protection)),
        learned=_learned(run),
        seen=list(views),
        exactness=_checks(run.checks),
        notes=[*more_caveats, *list_vertical_caveats(run, compares_centralised=compared is not None)],
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
