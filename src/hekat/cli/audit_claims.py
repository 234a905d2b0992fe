"""What `hekat audit` says of claims of differential privacy, across ledgers and beside the job."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.job.load_any_job import AnyJob
from hekat.job.noise_claims import hold_claims
from hekat.ledger import AuditReport
from hekat.ledger.claims import alone_with_claims, compare_claims


def find_differences(reports: Sequence[AuditReport], job: AnyJob | None) -> list[str]:
    """Every point on which two ledgers, or a ledger and the job, do not claim the same; each names both sides."""
    return [*compare_claims(reports), *([] if job is None else hold_claims(job, reports))]


def say_differences(reports: Sequence[AuditReport], job: AnyJob | None, found: Sequence[str]) -> str:
    """Which claims were compared, where they differ, and which were not compared; "" where nothing was to compare."""
    claiming = [one for one in reports if one.privacy is not None and (one.privacy.noise or one.privacy.labels)]
    alone = alone_with_claims(reports)
    held = [one.party for one in claiming if job is not None or one not in alone]
    lines = []
    if found or (held and (job is not None or len(claiming) > 1)):
        title = f"Claims of differential privacy of {', '.join(held) or 'no party'}"
        differences = "1 difference" if len(found) == 1 else f"{len(found)} differences"
        lines = [f"{title}{'' if job is None else f', and of the job {job.name}'}: {differences}"]
        lines += [f"  {text}" for text in found]
    lines += [
        f"NOT COMPARED: the claims of {one.party} with other parties'; no other of these ledgers is of its session"
        for one in alone
    ]
    return "".join(f"{line}\n" for line in lines)
