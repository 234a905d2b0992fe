"""The job file of boosted trees across columns: who holds what, how rows are matched, what is trained and how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from hekat.errors import JobError
from hekat.job.job_head import read_head_of, read_timeout
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.section import Section
from hekat.job.trees.sections import read_training, read_tree_columns, refuse_sparse, task_of
from hekat.job.vertical.columns_job import (
    ColumnsJob,
    check_measured,
    read_flag,
    read_hold_out,
    read_intersection,
)
from hekat.protocol.role_names import check_role_name
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings
from hekat.protocol.vertical_trees.settings import PROTECTIONS, VerticalTreesSettings

PROTOCOL: Final = "vertical_trees"


@dataclass(frozen=True, kw_only=True)
class TreesJob(ColumnsJob):
    """A checked job of boosted trees across columns."""

    settings: VerticalTreesSettings
    prediction: TreePredictionSettings


def load_trees_job(path: Path) -> TreesJob:
    """The job at `path`, checked whole. Raises JobError or InputError with the key and the cure."""
    head = read_head_of(path, PROTOCOL)
    top = head.rest
    if "checks" in top.remaining():
        raise JobError(
            "[checks] has no use for trees across columns",
            expected=f"a job of protocol {PROTOCOL!r} without [checks]",
            got="[checks]",
            cure="say centralised = true under [compare] instead: the same trees grow on the joined rows, in the clear",
        )
    data = top.take("data", str)
    test_data = top.take_optional("test_data", str)
    settings = _read_settings(top)
    for name in settings.everyone:
        check_role_name(name)
    job = TreesJob(
        name=head.name,
        digest=head.digest,
        settings=settings,
        intersection=read_intersection(top.take_section("intersection"), settings.guest, settings.hosts),
        prediction=_read_prediction(top.take_section("prediction"), settings),
        data=data,
        test_data=test_data,
        timeout_s=read_timeout(top, len(settings.everyone)),
        compare_centralised=read_flag(top.take_section("compare"), "centralised"),
        columns=replace(read_tree_columns(top.take_section("columns")), for_trees=True),
        hold_out=read_hold_out(top.take_section("validation")),
        party_keys=read_party_keys(top.take_section(SECTION), settings.everyone),
    )
    refuse_sparse(top, "a host's bins take one byte for each row and column")
    top.finish()
    check_measured(job, settings.guest, job.prediction.receivers)
    return job


def _read_settings(top: Section) -> VerticalTreesSettings:
    classes = top.take_optional_texts("classes")
    model = top.take_section("model")
    task = model.take("task", str, task_of(classes))
    model.finish()
    training = read_training(top.take_section("training"))
    protection, bin_leak = top.take_section("protection"), top.take_section("bin_leak")
    label_privacy = top.take_section("label_privacy")
    default = VerticalTreesSettings
    kind = protection.take("kind", str, default.protection)
    _check_key_bits_belong(protection, kind)
    settings = VerticalTreesSettings(
        guest=top.take("guest", str),
        hosts=top.take_texts("hosts"),
        task=task,  # type: ignore[arg-type]  # checked by VerticalTreesSettings
        classes=classes,
        protection=kind,  # type: ignore[arg-type]  # checked as well
        key_bits=protection.take("key_bits", int, default.key_bits),
        training=training,
        hide_partition=protection.take("hide_partition", bool, default.hide_partition),
        label_party_first_trees=protection.take("label_party_first_trees", int, default.label_party_first_trees),
        bin_leak_accepted=bin_leak.take_optional("accepted", str),
        max_level_sums=protection.take("max_level_sums", int, default.max_level_sums),
        label_privacy=label_privacy.take_optional("epsilon", float),
    )
    protection.finish()
    bin_leak.finish()
    label_privacy.finish()
    return settings


def _check_key_bits_belong(protection: Section, kind: str) -> None:
    """Raise JobError for a protection that is none, and for a key size where no Paillier key is made."""
    if kind not in PROTECTIONS:
        raise JobError(
            "protection.kind is no protection",
            expected=" or ".join(map(repr, PROTECTIONS)),
            got=repr(kind),
            cure="choose 'lattice' or 'paillier': hekat run JOB --dry-run says what both cost, and on which lines "
            "'paillier' ends sooner",
        )
    if kind != "paillier" and "key_bits" in protection.remaining():
        raise JobError(
            "protection.key_bits belongs to another protection",
            expected="protection.kind = 'paillier'",
            got=f"protection.kind = {kind!r}",
            cure="remove protection.key_bits, or say kind = 'paillier'",
        )


def _read_prediction(section: Section, settings: VerticalTreesSettings) -> TreePredictionSettings:
    receivers = section.take_optional_texts("receivers")
    section.finish()
    return TreePredictionSettings(settings.guest, settings.hosts, (settings.guest,) if receivers is None else receivers)
