"""The section [privacy] of a horizontal job: differential privacy, and what it takes the place of."""

from __future__ import annotations

from hekat.errors import JobError
from hekat.job.section import Section
from hekat.protocol.horizontal.privacy_settings import PrivacySettings

# Levels of values and noise: room for models of some million values, at hardly more noise than floats would need.
VALUE_BITS = 24


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
        moments=_read_moments(section.take_section("moments")),
    )
    section.finish()
    return privacy


def _read_moments(section: Section) -> dict[str, tuple[float, float]]:
    moments = {}
    for column in section.remaining():
        pair = section.take(column, list)
        if len(pair) != 2 or not all(isinstance(one, int | float) and not isinstance(one, bool) for one in pair):
            raise JobError(
                f"{section.place}.{column} has the wrong type",
                expected="[mean, spread], two numbers",
                got=f"a list of {len(pair)}",
                cure="give the column's public mean and spread, such as [50.0, 20.0]",
            )
        moments[column] = (float(pair[0]), float(pair[1]))
    return moments


def default_algorithm_under(privacy: PrivacySettings) -> str:
    """Of a job with this privacy that names no algorithm."""
    return "fedsgd" if privacy.unit == "row" else "fedavg"
