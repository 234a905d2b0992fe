"""The settings of a job of a split network as the plain table of summary.json."""

from __future__ import annotations

from dataclasses import asdict

from hekat.job.vertical_network.job_file import NetworkJob
from hekat.protocol.vertical_network.sealed.settings_rules import UNUSED
from hekat.protocol.vertical_network.settings import SEALED

Described = dict[str, str | int | float | bool | list[str] | None]


def describe_network_settings(job: NetworkJob) -> Described:
    """Every setting; those that are off are left out."""
    settings, shape = job.settings, job.settings.network
    described: Described = {
        "guest": settings.guest,
        "hosts": list(settings.hosts),
        "form": settings.form,
        "protection": settings.protection,
        "host_bottom": settings.host_bottom,
        "task": settings.task,
        "classes": None if settings.classes is None else list(settings.classes),
        "units": shape.units,
        "guest_width": shape.guest_width,
        "host_width": shape.host_width,
        "host_widths": [f"{host}: {width}" for host, width in shape.host_widths.items()],
        "bottom_hidden": list(map(str, shape.bottom_hidden)),
        "top_hidden": list(map(str, shape.top_hidden)),
        "activation": shape.activation,
        "bottoms": [f"{party}: {name}" for party, name in job.bottoms.items()],
        "top": job.top,
        **asdict(settings.training),
        "intersection": job.intersection_kind,
        "receivers": list(job.prediction.receivers),
        "rotation_accepted": settings.rotation_accepted,
    }
    if settings.form == SEALED:
        for name in (*(key.split(".")[1] for key in UNUSED), "bottoms", "top", "rotation_accepted"):
            described.pop(name, None)
        return _with_matching(described, job)
    for name in ("host_widths", "bottoms", "top"):
        if not described[name]:
            del described[name]
    if settings.host_bottom == "source":
        described.pop("host_widths", None)
        del described["host_width"]
    if settings.label_privacy is not None:
        described["label_privacy"] = settings.label_privacy
    if settings.labels_accepted is not None:
        described["labels_accepted"] = settings.labels_accepted
    if settings.slopes_accepted is not None:
        described["slopes_accepted"] = settings.slopes_accepted
    return _with_matching(described, job)


def _with_matching(described: Described, job: NetworkJob) -> Described:
    if job.hold_out:
        described["hold_out"] = job.hold_out
    if job.intersection is not None and job.intersection.kind == "rsa_blind":
        described["intersection_key_bits"] = job.intersection.key_bits
    return described
