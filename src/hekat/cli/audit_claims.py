"""What `hekat audit` says of claims of differential privacy, across ledgers and beside the job."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.job.load_any_job import AnyJob
from hekat.job.noise_claims import hold_claims
from hekat.ledger import AuditReport
from hekat.ledger.claims import compare_claims


def find_differences(reports: Sequence[AuditReport], job: AnyJob | None) -> list[str]:
    """Every point on which two ledgers, or a ledger and the job, do not claim the same; each names both sides."""
    return [*compare_claims(reports), *([] if job is None else hold_claims(job, reports))]


def say_differences(reports: Sequence[AuditReport], job: AnyJob | None, found: Sequence[str]) -> str:
    """Which claims were compared, and where they differ; "" where nothing was to compare."""
    parties = [one.party for one in reports if one.privacy is not None and (one.privacy.noise or one.privacy.labels)]
    if not found and (not parties or (job is None and len(parties) == 1)):
        return ""
    sides = ", ".join(parties) or "no party"
    title = f"Claims of differential privacy of {sides}" + ("" if job is None else f", and of the job {job.name}")
    lines = [f"{title}: {len(found)} differences", *(f"  {text}" for text in found)]
    return "\n".join(lines) + "\n"
