"""What a ledger of refusals says: which job was refused when, to which role, by which line of the site's policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from hekat.channel.channel import printable_reason
from hekat.ledger.audit import AuditReport
from hekat.ledger.entry import FieldRecord
from hekat.ledger.text_table import format_table
from hekat.wire import Disclosure

PROTOCOL = "site_policy"
"""Stands in the opening line of such a ledger, in the place of a run's protocol."""
STEP = "refused"
_MOST_CHARACTERS = 200
_SHOWN_DIGEST = 16


@dataclass(frozen=True)
class RefusedJob:
    """One line that refused a job. `digest` is hex; `time` UTC in ISO form, set by the ledger.

    Nothing here is a row's value, a path or a column's name.
    """

    job: str
    digest: str
    role: str
    line: str
    asked: str
    allowed: str
    time: str = ""

    def to_fields(self) -> tuple[FieldRecord, ...]:
        """The note's fields: each text, as far as it prints, in the place of an explanation."""
        return tuple(FieldRecord.of(name, Disclosure("public", _short(getattr(self, name))), 0) for name in _NAMES)


_NAMES = tuple(item.name for item in dataclasses.fields(RefusedJob) if item.name != "time")


def is_of_refusals(report: AuditReport) -> bool:
    """Whether the ledger holds a site's refusals, and no run's messages."""
    return report.protocol == PROTOCOL


def refused_jobs(report: AuditReport) -> tuple[RefusedJob, ...]:
    """What a verified ledger of refusals says, in the order of writing."""
    found = []
    for entry in report.entries:
        texts = {record.name: record.explanation for record in entry.fields}
        if entry.direction == "note" and entry.step == STEP and set(texts) == set(_NAMES):
            found.append(RefusedJob(**texts, time=entry.time))
    return tuple(found)


def say_refused(report: AuditReport) -> str:
    """The refusals as a table under the ledger's state."""
    jobs = refused_jobs(report)
    rows = [
        (job.time[:19].replace("T", " "), job.job, job.digest[:_SHOWN_DIGEST], job.line, job.asked, job.allowed)
        for job in jobs
    ]
    titles = ("time (UTC)", "job", "digest", "line", "asked", "allowed")
    table = format_table(titles, rows, right_aligned=set())
    head = f"Jobs that the site of {report.party} refused: {_count(jobs)}"
    return f"{head}\n{report.state}\n\n{table}\n"


def _count(jobs: Iterable[RefusedJob]) -> str:
    lines = list(jobs)
    return f"{len(lines)} lines, {len({job.digest for job in lines})} jobs"


def _short(text: str) -> str:
    shown = printable_reason(text) if text else "-"
    return shown if len(shown) <= _MOST_CHARACTERS else f"{shown[: _MOST_CHARACTERS - 3]}..."
