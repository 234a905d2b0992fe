"""The job file of boosted trees across columns: who holds what, how rows are matched, what is trained and how."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from hekat.data import ColumnSpecs
from hekat.errors import JobError
from hekat.job.job_head import read_columns, read_head_of, read_timeout
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.section import Section
from hekat.job.vertical.columns_job import (
    ColumnsJob,
    check_measured,
    read_flag,
    read_hold_out,
    read_intersection,
)
from hekat.model.trees import TreeTraining
from hekat.protocol.role_names import check_role_name
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings

PROTOCOL: Final = "vertical_trees"
MODEL: Final = "trees"
"""What `policy.models` of a site calls such a model."""


@dataclass(frozen=True, kw_only=True)
class TreesJob(ColumnsJob):
    """A checked job of boosted trees across columns."""

    settings: VerticalTreesSettings
    prediction: TreePredictionSettings


def load_trees_job(path: Path) -> TreesJob:
    """The job at `path`, checked whole. Raises JobError or InputError with the key and the cure."""
    head = read_head_of(path, PROTOCOL)
    top = head.rest
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
        columns=_read_columns(top.take_section("columns")),
        hold_out=read_hold_out(top.take_section("validation")),
        party_keys=read_party_keys(top.take_section(SECTION), settings.everyone),
    )
    _refuse_sparse(top)
    top.finish()
    check_measured(job, settings.guest, job.prediction.receivers)
    return job


def _read_settings(top: Section) -> VerticalTreesSettings:
    classes = top.take_optional_texts("classes")
    model = top.take_section("model")
    task = model.take("task", str, task_of(classes))
    model.finish()
    training = _read_training(top.take_section("training"))
    protection, bin_leak = top.take_section("protection"), top.take_section("bin_leak")
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
    )
    protection.finish()
    bin_leak.finish()
    return settings


def task_of(classes: tuple[str, ...] | None) -> str:
    """The task of a job that names none: what its classes make it."""
    if classes is None:
        return "regression"
    return "binary" if len(classes) == 2 else "multiclass"


def _check_key_bits_belong(protection: Section, kind: str) -> None:
    """Raise JobError for a key size where no Paillier key is made."""
    if kind != "paillier" and "key_bits" in protection.remaining():
        raise JobError(
            "protection.key_bits belongs to another protection",
            expected="protection.kind = 'paillier'",
            got=f"protection.kind = {kind!r}",
            cure="remove protection.key_bits, or say kind = 'paillier'",
        )


def _read_training(section: Section) -> TreeTraining:
    default = TreeTraining()
    said: dict[str, Any] = {}
    for one in fields(TreeTraining):
        usual = getattr(default, one.name)
        said[one.name] = (
            section.take_optional(one.name, int) if usual is None else section.take(one.name, type(usual), usual)
        )
    section.finish()
    return TreeTraining(**said)


def _read_prediction(section: Section, settings: VerticalTreesSettings) -> TreePredictionSettings:
    receivers = section.take_optional_texts("receivers")
    section.finish()
    return TreePredictionSettings(settings.guest, settings.hosts, (settings.guest,) if receivers is None else receivers)


def _read_columns(section: Section) -> ColumnSpecs:
    """The job's description of columns, for trees. Raises JobError for what trees have no use for."""
    specs = read_columns(section)
    for spec in specs:
        if "most_frequent" in (spec.fill, spec.unknown):
            raise JobError(
                f"columns.{spec.name} says 'most_frequent', and trees need no such fill",
                expected="no such line: trees learn where an empty cell, or a text that is no category, goes",
                got="'most_frequent'",
                cure=f'leave it out of [columns.{spec.name}]; unknown = "ignore" takes new texts as empty cells',
            )
        if spec.missing == "indicator":
            raise JobError(
                f"columns.{spec.name}.missing refused",
                expected="no such line: an empty cell has a bin of its own",
                got="'indicator'",
                cure=f"leave it out of [columns.{spec.name}], and fill as well",
            )
    return replace(specs, for_trees=True)


def _refuse_sparse(top: Section) -> None:
    """Raise JobError where rows are to be held sparse."""
    if top.take("sparse", bool, False):
        raise JobError(
            "trees are trained on dense rows",
            expected="sparse = false, or no such line",
            got="sparse = true",
            cure="leave it out; a host's bins take one byte for each row and column",
        )
