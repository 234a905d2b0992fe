"""The job file of boosted trees across rows: who has rows with the same columns, and how trees are grown on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from hekat.channel import PartyPublicKey
from hekat.data import ColumnSpecs
from hekat.errors import JobError
from hekat.job.job_head import FOUND, read_head_of, read_pairs, read_timeout
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.rows.protection_section import read_protection
from hekat.job.section import Section
from hekat.job.trees.sections import read_training, read_tree_columns, refuse_sparse, task_of
from hekat.protocol.horizontal_trees.private.settings import TreesPrivacy
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.role_names import check_role_name
from hekat.toml_text import toml_key

PROTOCOL: Final = "horizontal_trees"
_PLAIN = 'run the same job with protection.kind = "none" beside it, on rows that are public: it grows the same trees'
_CURES_OF_SECTIONS: Final = {
    "compare": f"leave it out; to see what encryption takes, {_PLAIN}",
    "checks": f"leave it out: sums of trees are of integers, and exact; to see that, {_PLAIN}",
    "codec": "leave it out: sums of trees are of integers, of training.gradient_bits",
}


@dataclass(frozen=True, kw_only=True)
class RowTreesJob:
    """A checked job of boosted trees across rows. `digest` is over the file's bytes."""

    name: str
    digest: bytes
    settings: HorizontalTreesSettings
    data: str
    test_data: str | None
    timeout_s: float
    columns: ColumnSpecs = field(default_factory=ColumnSpecs)
    party_keys: Mapping[str, PartyPublicKey] = field(default_factory=dict, repr=False)
    """The key that every role signs with; none where the job leaves that open."""

    @property
    def sparse(self) -> bool:
        """Whether rows are held sparse: never, trees look at every cell."""
        return False


def load_row_trees_job(path: Path) -> RowTreesJob:
    """The job at `path`, checked whole. Raises JobError, InputError or PolicyError with the key and the cure."""
    head = read_head_of(path, PROTOCOL)
    top = head.rest
    _refuse_other_sections(top)
    data = top.take("data", str)
    test_data = top.take_optional("test_data", str)
    settings = _read_settings(top)
    for name in settings.everyone:
        check_role_name(name)
    columns = _read_columns(top.take_section("columns"))
    timeout_s = read_timeout(top, len(settings.parties))
    party_keys = read_party_keys(top.take_section(SECTION), settings.everyone)
    refuse_sparse(top, "trees look at every cell")
    top.finish()
    return RowTreesJob(
        name=head.name,
        digest=head.digest,
        settings=settings,
        data=data,
        test_data=test_data,
        timeout_s=timeout_s,
        columns=columns,
        party_keys=party_keys,
    )


def _refuse_other_sections(top: Section) -> None:
    """Raise JobError for sections of protocol "horizontal" that trees have no use for, with what there is instead."""
    for name, cure in _CURES_OF_SECTIONS.items():
        if name in top.remaining():
            raise JobError(
                f"[{name}] has no use for trees across rows",
                expected=f"a job of protocol {PROTOCOL!r} without [{name}]",
                got=f"[{name}]",
                cure=cure,
            )


def _read_settings(top: Section) -> HorizontalTreesSettings:
    protection = read_protection(top.take_section("protection"))
    classes = top.take_optional_texts("classes")
    _check_task(top.take_section("model"), classes)
    return HorizontalTreesSettings(
        parties=top.take_texts("parties"),
        aggregator=top.take("aggregator", str),
        classes=classes,
        weight_max=top.take("weight_max", int),
        allow_two_parties=top.take("allow_two_parties", bool, False),
        min_parties=top.take("min_parties", int, HorizontalTreesSettings.min_parties),
        protection=protection.kind,
        opening=protection.opening,
        authority=protection.authority,
        key_bits=protection.key_bits,
        check_sum=protection.check_sum,
        training=read_training(top.take_section("training")),
        hold_out=_read_hold_out(top.take_section("validation")),
        privacy=_read_privacy(top.take_section("privacy")),
    )


def _read_privacy(section: Section) -> TreesPrivacy | None:
    """Row-level differential privacy, as [privacy] says; None where the job has no such section."""
    if not section.remaining():
        return None
    privacy = TreesPrivacy(
        delta=section.take("delta", float),
        noise=section.take_optional("noise", float),
        epsilon=section.take_optional("epsilon", float),
        colluders=section.take_optional("colluders", int),
        neighbours=section.take("neighbours", str, TreesPrivacy.neighbours),  # type: ignore[arg-type]  # checked there
        bounds=read_pairs(section.take_section("bounds"), "[low, high]", "[18, 100]"),
    )
    section.finish()
    return privacy


def _check_task(model: Section, classes: tuple[str, ...] | None) -> None:
    """Raise JobError for a task that the job's classes do not make."""
    fitting = task_of(classes)
    task = model.take("task", str, fitting)
    model.finish()
    if task != fitting:
        raise JobError(
            "model.task does not fit the job's classes",
            expected=f"{fitting!r}, or no such line",
            got=repr(task),
            cure="leave model.task out, or correct classes: two for 'binary', more for 'multiclass', none for "
            "'regression'",
        )


def _read_hold_out(section: Section) -> float:
    fraction = section.take("hold_out", float, 0.0)
    if "folds" in section.remaining():
        raise JobError(
            "validation.folds belongs to jobs of protocol 'horizontal'",
            expected="validation.hold_out in a job of trees",
            got="validation.folds",
            cure="set hold_out = 0.2; or cross-validate on one machine, with hekat.estimator",
        )
    section.finish()
    return fraction


def _read_columns(section: Section) -> ColumnSpecs:
    """The job's description of columns. Raises JobError for what would take sums that trees do not have."""
    specs = read_tree_columns(section)
    for spec in specs:
        place = toml_key("columns", spec.name)
        if spec.found:
            raise JobError(
                f"{place}.categories refused",
                expected="a list of texts: parties that grow trees across rows do not find categories together",
                got=repr(FOUND),
                cure='list the texts that columns hold: categories = ["...", "..."], with unknown = "ignore" or '
                "other = true for others",
            )
        if spec.joint_fill:
            raise JobError(
                f"{place}.fill refused",
                expected="no such line, or a number: trees learn where an empty cell goes",
                got=repr(spec.joint_fill),
                cure=f"leave it out of [{place}]",
            )
    return replace(specs, keeps_gaps=True)
