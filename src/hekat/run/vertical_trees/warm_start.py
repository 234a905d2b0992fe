"""A job that goes on with the trees of an earlier run: each party with its own part, checked before all else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.data import ColumnSpecs, Table
from hekat.errors import InputError
from hekat.job.vertical_trees.job_file import PROTOCOL
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.own_table import check_part
from hekat.run.vertical.earlier_run import read_run_id
from hekat.run.vertical_trees.load_inputs import TreesInputs
from hekat.run.vertical_trees.part_file import TREE_PARTS, SavedTrees


@dataclass(frozen=True)
class TreesStart:
    """The run that is started from, each party's part of its model, and how many iterations these have."""

    run_id: str
    iterations: int
    parts: Mapping[str, TreesPart] = field(repr=False)


def load_trees_start(run_folder: Path, inputs: TreesInputs) -> TreesStart:
    """What the parties of a loaded job start from; nothing is written or sent.

    Raises StateError where `run_folder` is not of a finished run of trees across columns or its parts are not whole,
    InputError where they are of another task, classes, parties, columns or categories than the job's, or have as many
    iterations as it allows.
    """
    run_id = read_run_id(run_folder, PROTOCOL, "boosted trees across columns")
    saved = TREE_PARTS.load_all(run_folder)
    for one in saved.values():
        # There is no table for a part of other parties; it is refused before its columns are checked.
        table = inputs.tables.get(one.part.party)
        check_part(one.part, () if table is None else table.feature_names, inputs.job.settings)
        if table is not None:
            _check_categories(one, table, inputs.columns[one.part.party])
    parts = {party: one.part for party, one in saved.items()}
    return TreesStart(run_id, next(iter(parts.values())).iterations, parts)


def _check_categories(saved: SavedTrees, table: Table, columns: ColumnSpecs) -> None:
    """Raise InputError where a category has another number now than in the bins of the earlier part."""
    for name in table.categories:
        before, now = (_categories_of(specs, name) for specs in (saved.column_specs, columns))
        if before != now:
            raise InputError(
                f"a warm start from other categories at {table.name}",
                expected=f"the {len(before)} categories that column {name!r} had, in their order",
                got=f"{len(now)} categories, not the same ones in the same order",
                cure=f"list the categories of the earlier run under [columns.{name}] of the job; "
                'unknown = "ignore" takes new texts as empty cells',
            )


def _categories_of(specs: ColumnSpecs, name: str) -> tuple[str, ...]:
    spec = specs.find(name, holds_texts=True)
    return () if spec is None else tuple(spec.categories or ())
