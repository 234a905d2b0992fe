"""A vertical job's settings as the plain table of summary.json."""

from __future__ import annotations

from hekat.job.vertical_linear.job_file import VerticalJob

Described = dict[str, str | int | float | bool | list[str] | None]


def describe_vertical_settings(job: VerticalJob) -> Described:
    """Every setting; those that are off or belong to another form are left out."""
    settings, training = job.settings, job.settings.training
    described: Described = {
        "guest": settings.guest,
        "hosts": list(settings.hosts),
        "arbiter": settings.arbiter,
        "form": settings.form,
        "protection": settings.protection,
        "key_bits": settings.key_bits if settings.protection == "paillier" else None,
        "model": settings.task,
        "classes": None if settings.classes is None else list(settings.classes),
        "epochs": training.epochs,
        "batch_rows": training.batch_rows,
        "learning_rate": training.learning_rate,
        "optimiser": training.optimiser,
        "l1": training.l1,
        "l2": training.l2,
        "standardise": training.standardise,
        "seed": training.seed,
        "feature_bits": settings.fixed_point.feature_bits,
        "value_bits": settings.fixed_point.value_bits,
        "intersection": job.intersection_kind,
        "receivers": list(job.prediction.receivers),
        "score_bits": job.prediction.score_bits,
    }
    if settings.form == "shared_weights" and settings.quiet_parties:
        described["share_holders"] = list(settings.holders)
    if training.optimiser_settings:
        described["optimiser_settings"] = [f"{name} = {value:g}" for name, value in training.optimiser_settings.items()]
    if job.hold_out:
        described["hold_out"] = job.hold_out
    if settings.calibration_rows:
        described["calibration_rows"] = settings.calibration_rows
    if settings.reweights:
        described["reweight"] = True
    if training.stops_when_settled:
        described["stop_when_settled"] = True
    if training.mixes_columns:
        described["mixed_columns"] = True
    if settings.limit_spreads:
        described["limit_spreads"] = settings.limit_spreads
    for name in ("patience", "min_improvement", "stop_at_loss"):
        if getattr(training, name):
            described[name] = getattr(training, name)
    if settings.label_privacy is not None:
        described["label_privacy"] = settings.label_privacy
    if settings.label_leak_accepted is not None:
        described["label_leak_accepted"] = settings.label_leak_accepted
    if settings.column_leak_accepted is not None:
        described["column_leak_accepted"] = settings.column_leak_accepted
    if job.intersection is not None and job.intersection.kind == "rsa_blind":
        described["intersection_key_bits"] = job.intersection.key_bits
    if job.sparse:
        described["sparse"] = True
    return described
