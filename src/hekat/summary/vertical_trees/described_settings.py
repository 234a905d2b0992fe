"""The settings of a job of trees as the plain table of summary.json."""

from __future__ import annotations

from hekat.job.vertical_trees.job_file import TreesJob
from hekat.summary.trees.described_training import describe_training

Described = dict[str, str | int | float | bool | list[str] | None]


def describe_trees_settings(job: TreesJob) -> Described:
    """Every setting; those that are off or belong to another protection are left out."""
    settings = job.settings
    described: Described = {
        "guest": settings.guest,
        "hosts": list(settings.hosts),
        "protection": settings.protection,
        "key_bits": settings.key_bits if settings.protection == "paillier" else None,
        "task": settings.task,
        "classes": None if settings.classes is None else list(settings.classes),
        **describe_training(settings.training),
        "hide_partition": settings.hide_partition,
        "label_party_first_trees": settings.label_party_first_trees,
        "max_level_sums": settings.max_level_sums,
        "intersection": job.intersection_kind,
        "receivers": list(job.prediction.receivers),
    }
    if job.hold_out:
        described["hold_out"] = job.hold_out
    if settings.label_privacy is not None:
        described["label_privacy"] = settings.label_privacy
    if settings.bin_leak_accepted is not None:
        described["bin_leak_accepted"] = settings.bin_leak_accepted
    if job.intersection is not None and job.intersection.kind == "rsa_blind":
        described["intersection_key_bits"] = job.intersection.key_bits
    return described
