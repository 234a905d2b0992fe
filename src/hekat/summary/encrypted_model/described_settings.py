"""The settings of a training on an encrypted model as the plain table of summary.json."""

from __future__ import annotations

from hekat.job.encrypted_model.job_file import EncryptedModelJob

Described = dict[str, str | int | float | bool | list[str] | None]


def describe_encrypted_model(job: EncryptedModelJob) -> Described:
    """Every setting; those that are off or belong to another protection are left out."""
    settings, training = job.settings, job.settings.training
    described: Described = {
        "hosts": list(settings.hosts),
        "arbiter": settings.arbiter,
        "aggregator": settings.aggregator,
        "owner": settings.owner,
        "model": settings.task,
        "classes": None if settings.classes is None else list(settings.classes),
        "protection": settings.protection,
        "rounds": training.rounds,
        "local_epochs": training.local_epochs,
        "batch_rows": training.batch_rows,
        "learning_rate": training.learning_rate,
        "optimiser": training.optimiser,
        "l2": training.l2,
        "standardise": training.standardise,
        "report_every": training.report_every,
        "seed": training.seed,
    }
    if settings.protection == "paillier":
        described["key_bits"] = settings.key_bits
    if training.optimiser == "momentum":
        described["momentum"] = training.momentum
    if job.hold_out:
        described["hold_out"] = job.hold_out
    return described
