"""Holds what a party's ledger records of noise and of replaced labels against what the job's settings imply."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from hekat.errors import InputError
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.load_any_job import AnyJob
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.job.vertical_network.job_file import NetworkJob
from hekat.job.vertical_trees.job_file import TreesJob
from hekat.ledger import AuditReport
from hekat.ledger.claims import differences
from hekat.ledger.privacy.reckon import UPLOAD_KIND
from hekat.ledger.privacy.records import LabelsRecord, NoiseRecord

_WITH_LABELS = (VerticalJob, TreesJob, NetworkJob)
# Steps of intersections and of predictions, which have no use for labels, have other names.
_OF_TRAINING = re.compile(r"(epoch|tree)-\d")


def hold_claims(job: AnyJob, reports: Iterable[AuditReport]) -> list[str]:
    """Every point, in words, on which verified ledgers do not record the noise, or the labels, that the job implies,
    with the names of all parties that record it so.

    A role that sent no part of a sum records no noise.
    """
    parties: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        for point in _differences(job, report):
            parties.setdefault(point, []).append(report.party)
    return [f"{ours} at {', '.join(names)}; {theirs}" for (ours, theirs), names in parties.items()]


def _differences(job: AnyJob, report: AuditReport) -> Iterator[tuple[str, str]]:
    """What the ledger says of each point that differs, and what the job does."""
    noise = () if report.privacy is None else report.privacy.noise
    for recorded in noise:
        yield from _hold_noise(job, recorded)
    if not noise and _is_private(job) and _sent_sums(report):
        yield "no noise of the sums that were sent", "and the job has [privacy]"
    labels = () if report.privacy is None else report.privacy.labels
    for replaced in labels:
        yield from _hold_labels(job, replaced)
    if not labels and _trained_on_labels(job, report):
        yield "no labels were replaced", "and the job has [label_privacy]"


def _is_private(job: AnyJob) -> bool:
    return isinstance(job, (Job, RowTreesJob)) and job.settings.privacy is not None


def _sent_sums(report: AuditReport) -> bool:
    return any(entry.direction == "sent" and entry.kind == UPLOAD_KIND for entry in report.entries)


def _trained_on_labels(job: AnyJob, report: AuditReport) -> bool:
    """Whether it is a guest's ledger of a training with label privacy, where the guest replaces labels first."""
    if not isinstance(job, _WITH_LABELS) or job.settings.label_privacy is None or report.party != job.settings.guest:
        return False
    return any(entry.direction == "sent" and _OF_TRAINING.match(entry.step) for entry in report.entries)


def _hold_noise(job: AnyJob, recorded: NoiseRecord) -> Iterator[tuple[str, str]]:
    if not _is_private(job):
        yield "sums with noise", "and the job has no [privacy]"
        return
    try:
        implied = _implied(job, recorded)
    except InputError as error:
        yield f"sums of {recorded.value_count:,} values", f"whose noise the job refuses: {error.what}"
        return
    assert implied is not None  # the job has noise
    for point in differences(recorded, implied):
        yield f"{point.what} is {point.ours}", f"{point.theirs} by the job"


def _implied(job: AnyJob, recorded: NoiseRecord) -> NoiseRecord | None:
    """The record that the job's settings lead to. The values of a sum follow from tables, which the job does not have:
    the recorded ones are taken, and the noise that they need."""
    if isinstance(job, Job):
        plan = job.settings.plan_privacy(recorded.value_count - 1)  # the loss is one more
        return None if plan is None else plan.describe()
    if isinstance(job, RowTreesJob) and job.settings.privacy is not None:
        return job.settings.leaf_noise.describe(job.settings.privacy)
    return None


def _hold_labels(job: AnyJob, replaced: LabelsRecord) -> Iterator[tuple[str, str]]:
    settings = job.settings if isinstance(job, _WITH_LABELS) else None
    if settings is None or settings.label_privacy is None or settings.classes is None:
        yield "replaced labels", "and the job has no [label_privacy]"
        return
    if not math.isclose(replaced.epsilon, settings.label_privacy, rel_tol=1e-9):
        yield f"the epsilon of labels is {replaced.epsilon:g}", f"{settings.label_privacy:g} by the job"
    if replaced.classes != len(settings.classes):
        yield f"the classes of labels are {replaced.classes}", f"{len(settings.classes)} by the job"
