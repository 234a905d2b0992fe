"""What a reader of a vertical run's report has to keep in mind: whom to trust, and how the figures came about."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.protocol.vertical_linear.label_leak.equations import ROWS_PER_EQUATION
from hekat.protocol.vertical_linear.loss_bits import told_loss_bits
from hekat.summary.vertical.caveats import (
    ROWS_JOINED,
    caveats_on_labels,
    caveats_on_matching,
    caveats_on_measuring,
    caveats_on_resuming,
    caveats_on_tables,
    caveats_on_trust,
)
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun


def list_vertical_caveats(run: FinishedVerticalRun, *, compares_centralised: bool = False) -> list[str]:
    """The caveats of a finished run; `compares_centralised`: it was held against training on the joined rows."""
    job, matches = run.job, run.matches
    caveats = [
        *caveats_on_trust(job),
        *_who_learns_what(job, matches[0].common if matches else None),
        *caveats_on_matching(job),
        *caveats_on_tables(run),
    ]
    if run.checks:
        caveats.append("gradients of all parties were compared inside this process to check the stated bound")
    if compares_centralised:
        caveats.append(ROWS_JOINED)
    caveats += caveats_on_resuming(run, "epoch")
    if matches and job.settings.calibration_rows:
        held_out = matches[1].common if job.hold_out and len(matches) > 1 else 0
        count = min(job.settings.calibration_rows, matches[0].common - held_out)
        again = ", at most twice, before and after re-weighting" if job.settings.score_openings > 1 else ""
        caveats.append(
            f"the guest learned the scores of {count:,} training rows{again}, to fit probabilities to its labels "
            "(training.calibration_rows)"
        )
    caveats += caveats_on_measuring(run)
    return caveats


def _who_learns_what(job: VerticalJob, row_count: int | None) -> Iterator[str]:
    settings = job.settings
    if settings.protection == "none":
        yield "protection is NONE: scores, residuals and gradients were sent in the clear"
    if settings.form == "shared_weights":
        keep = "two of them keep" if settings.quiet_parties else "each keeps"
        yield f"no party knows a weight, not even of its own columns: {keep} shares, which are of no use alone"
        if settings.quiet_parties:
            first, second = settings.holders
            yield (
                f"{first} and {second} hold all shares: together they could open every weight, the products of all "
                "columns in each batch, and each party's part of every score, and from these find rows; other parties, "
                "however many, could not"
            )
    else:
        yield (
            f"{settings.arbiter} holds the key and sees masked gradients only; together with any one party it could "
            "open what that party is sent, so it must be independent of all of them"
        )
        yield (
            "guest and hosts see their own gradients: linear equations on labels, at the guest on the hosts' scores, "
            f"at most one for {ROWS_PER_EQUATION} rows unless the job waives that; equations of several runs add up, "
            "and so do the equations of hosts that combine theirs"
        )
    yield from caveats_on_labels(job)
    if settings.label_leak_accepted is not None:
        yield f"the job accepts that {settings.label_leak_accepted}"
    if settings.column_leak_accepted is not None:
        yield f"the job accepts that {settings.column_leak_accepted}"
    if settings.limit_spreads:
        yield (
            f"standardised values beyond {settings.limit_spreads:g} spreads were set to that, in training and "
            "in predictions; each party's ledger says how many of its own"
        )
    if row_count is not None:
        bits = told_loss_bits(row_count, settings.training.epochs)
        yield f"the guest learned each epoch's mean square of residuals to 2^-{bits}, and stop rules go by that"
    yield f"scores are told to 2^-{job.prediction.score_bits}, and counted against policy.max_predictions of the site"
    if settings.task == "logistic":
        yield (
            "the loss is the second-order Taylor form of the logistic one: its weights differ from the weights of the "
            "exact one"
        )
