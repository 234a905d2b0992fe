"""The sections that every job of boosted trees has: how trees are trained, and columns as trees take them."""

from __future__ import annotations

from typing import Final

from hekat.data import ColumnSpecs
from hekat.errors import JobError
from hekat.job.job_head import read_columns, read_fields
from hekat.job.section import Section
from hekat.model.trees import TreeTraining

MODEL: Final = "trees"
"""What `policy.models` of a site calls such a model."""


def task_of(classes: tuple[str, ...] | None) -> str:
    """The task of a job that names none: what its classes make it."""
    if classes is None:
        return "regression"
    return "binary" if len(classes) == 2 else "multiclass"


def read_training(section: Section) -> TreeTraining:
    """What [training] says: the fields of `TreeTraining` by their names. Raises JobError or InputError."""
    return TreeTraining(**read_fields(section, TreeTraining()))


def read_tree_columns(section: Section) -> ColumnSpecs:
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
    return specs


def refuse_sparse(top: Section, why: str) -> None:
    """Raise JobError where rows are to be held sparse; `why` says what they take dense."""
    if top.take("sparse", bool, False):
        raise JobError(
            "trees are trained on dense rows",
            expected="sparse = false, or no such line",
            got="sparse = true",
            cure=f"leave it out; {why}",
        )
