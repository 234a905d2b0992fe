"""What a reader of the report of a training on an encrypted model has to keep in mind: whom to trust, and what for."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.job.party_keys import caveats_on_keys
from hekat.summary.encrypted_model.finished_run import FinishedEncryptedModelRun
from hekat.summary.test_rows import caveats_on_test_rows


def list_encrypted_model_caveats(run: FinishedEncryptedModelRun) -> list[str]:
    """The caveats of a finished run."""
    job = run.job
    return [
        "parties are trusted to follow the protocol; it protects what they send, not what they may make up",
        *caveats_on_keys(job.party_keys),
        *_who_learns_what(job),
        *_on_objective(job),
        *_on_tables(run),
        *_on_resuming(run),
        *_on_measuring(run),
    ]


def _who_learns_what(job: EncryptedModelJob) -> Iterator[str]:
    settings = job.settings
    arbiter, aggregator, owner = settings.arbiter, settings.aggregator, settings.owner
    if settings.protection == "none":
        yield "protection is NONE: the model and every host's part of its step were sent in the clear"
        return
    yield (
        f"hosts train on weights that they cannot read: {arbiter} holds the key and sees uniform numbers, {aggregator} "
        "adds ciphertexts and has no key"
    )
    yield (
        f"{arbiter} and {aggregator} must not work together: they could open every round's model, and with all hosts "
        "but one what that one computed of it"
    )
    yield f"{arbiter} and a host together could open the model of every round"
    yield (
        f"{aggregator} and {owner} must not work together: with numbers of their choice in place of the model they "
        "would read what all hosts make of these together, once for each model that is told and each round played again"
    )
    yield f"{owner} has the final model, which tells of the rows what models tell"
    yield from _on_reported(job)
    yield (
        f"{arbiter} and {aggregator} keep their shares, and hosts may have rows scored by them: rows are counted "
        "against policy.max_predictions of the site"
    )
    if settings.training.standardise:
        others = "; of two hosts each has the other's by subtraction" if len(settings.hosts) == 2 else ""
        yield f"hosts and {owner} learned the mean and spread of each column over all hosts' rows{others}"


def _on_reported(job: EncryptedModelJob) -> Iterator[str]:
    settings, count = job.settings, job.settings.training.reported_count
    if count > 1:
        others = "the other hosts'" if settings.owner_is_host else "all hosts'"
        yield (
            f"{settings.owner} was given {count} models: how one follows from another tells it of sums of products of "
            f"{others} columns, and many models tell these sums whole"
        )


def _on_objective(job: EncryptedModelJob) -> Iterator[str]:
    if job.settings.task == "logistic":
        yield (
            "the loss is the second-order Taylor form of the logistic one: its weights differ from the weights of the "
            "exact one, and so may log losses rise while it falls"
        )


def _on_tables(run: FinishedEncryptedModelRun) -> Iterator[str]:
    for name, found in run.results.items():
        for note in () if found.table is None else found.table.notes:
            yield f"{name}: {note}"
    owned = run.owned
    if owned is not None and owned.measured is not None and owned.measured_on == "test data":
        for note in owned.measured.notes:
            yield f"the test data of {run.job.settings.owner}: {note}"


def _on_resuming(run: FinishedEncryptedModelRun) -> Iterator[str]:
    done = run.resumed_after
    if done is not None:
        yield f"the run goes on from round {done} of an earlier one; times and bytes are of this part alone"
        yield f"rounds after round {done} that were played before were played again, each one more answer of every host"


def _on_measuring(run: FinishedEncryptedModelRun) -> Iterator[str]:
    owned, owner = run.owned, run.job.settings.owner
    if owned is None:
        return
    if owned.unmeasured:
        yield f"nothing was measured: the rows of {owner} have other columns than the model: {owned.unmeasured}"
        return
    if owned.measured is None:
        yield f"nothing was measured: no rows lie at {owner}, and nobody else has the model"
        return
    if owned.measured_on == "held-out rows":
        yield (f"{owned.measured.rows:,} rows of {owner} were held out of training: metrics are of these")
    if owned.measured_on == "training rows":
        yield f"metrics are of the {owned.measured.rows:,} training rows of {owner} alone"
    yield from caveats_on_test_rows(owned.measured.rows, owned.measured.trained_on)
