"""The section [privacy] of a horizontal job: differential privacy, and what it takes the place of."""

from __future__ import annotations

from hekat.job.job_head import read_pairs
from hekat.job.section import Section
from hekat.protocol.horizontal.privacy_settings import PrivacySettings


def read_privacy(section: Section) -> PrivacySettings | None:
    """The section; None where the job has none. Raises JobError, InputError."""
    if not section.remaining():
        return None
    default = PrivacySettings(unit="party", clip=1.0, delta=0.5, noise=1.0)
    privacy = PrivacySettings(
        unit=section.take("unit", str),  # type: ignore[arg-type]  # checked by the settings, as all that follow
        clip=section.take("clip", float),
        delta=section.take("delta", float),
        noise=section.take_optional("noise", float),
        epsilon=section.take_optional("epsilon", float),
        divisor=section.take_optional("divisor", int),
        colluders=section.take_optional("colluders", int),
        batches=section.take("batches", str, default.batches),  # type: ignore[arg-type]
        sampling=section.take("sampling", float, default.sampling),
        neighbours=section.take("neighbours", str, default.neighbours),  # type: ignore[arg-type]
        alpha=section.take_optional("alpha", float),
        loss_bound=section.take("loss_bound", float, default.loss_bound),
        moments=read_pairs(section.take_section("moments"), "[mean, spread]", "[50.0, 20.0]"),
    )
    section.finish()
    return privacy


def default_algorithm_under(privacy: PrivacySettings) -> str:
    """Of a job with this privacy that names no algorithm."""
    return "fedsgd" if privacy.unit == "row" else "fedavg"
