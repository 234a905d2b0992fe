"""A party's own columns in bins; where training goes on with a state or a model, in its bins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.data import Table, describe_schema_difference
from hekat.data.features import to_dense
from hekat.errors import InputError
from hekat.model.trees import BinnedTable, bin_rows, bin_table
from hekat.protocol.vertical_trees.model_part import TreesPart, read_bins
from hekat.protocol.vertical_trees.party_run import TreesRun
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings


def bin_own_table(table: Table, settings: VerticalTreesSettings, run: TreesRun, *, may_be_empty: bool) -> BinnedTable:
    """The columns of `table` in bins. Empty cells (NaN) are missing values.

    Raises InputError for infinity, no columns where there must be some, a column of one value, and other columns than
    the part has that training goes on with.
    """
    values = dense_values(table)
    if not values.shape[1] and not may_be_empty:
        raise InputError(
            f"{table.name} has no columns",
            expected="at least one feature at every host",
            got="none",
            cure="give the party a column, or leave it out of the job",
        )
    before = run.resume_from.arrays if run.resume_from is not None else None
    if run.start_from is not None and before is None:
        check_part(run.start_from, table.feature_names, settings)
        before = run.start_from.arrays
    if before is not None:
        bins = read_bins(before)
        if len(bins) != values.shape[1]:
            raise InputError(
                f"{table.name} has other columns than the training that it goes on with",
                expected=f"{len(bins)} columns",
                got=f"{values.shape[1]}",
                cure="begin anew",
            )
        return bin_rows(values, bins)
    categories = [number for number, name in enumerate(table.feature_names) if name in table.categories]
    binned = bin_table(values, settings.training.max_bins, categories)
    _refuse_constant(table, binned)
    return binned


def dense_values(table: Table) -> npt.NDArray[np.float64]:
    """The features of `table`, (rows, columns), sparse ones with every zero written out."""
    return np.asarray(to_dense(table.features, table.name), np.float64)


def check_part(part: TreesPart, columns: tuple[str, ...], settings: VerticalTreesSettings) -> None:
    """Raise InputError unless training by `settings` on a party's `columns` may go on with its `part` (warm start)."""
    same = "the same, in their order"
    for what, expected, got in (
        ("parties", _name_parties(settings.guest, settings.hosts), _name_parties(part.guest, part.hosts)),
        ("task", settings.task, part.task),
        ("classes", str(settings.classes), str(part.classes)),
        ("label privacy", str(settings.label_privacy), str(part.label_privacy)),
        ("columns", same, describe_schema_difference(columns, part.columns) or same),
    ):
        if expected != got:
            raise InputError(
                f"a warm start from other {what} at {part.party}",
                expected=expected,
                got=f"in the earlier part: {got}",
                cure="begin anew, or start from a model of the same kind",
            )
    most = max((bins.value_bin_count for bins in part.bins), default=0)
    if most > settings.training.max_bins:
        raise InputError(
            f"a warm start from finer bins at {part.party}",
            expected=f"columns of at most training.max_bins = {settings.training.max_bins} bins",
            got=f"in the earlier part: a column of {most}; training goes on in the bins that are there",
            cure=f"set training.max_bins to what it was, {most} or more, or begin anew",
        )
    if part.iterations >= settings.training.max_iter:
        raise InputError(
            f"a warm start from as many trees as the training may have at {part.party}",
            expected=f"fewer than training.max_iter = {settings.training.max_iter}",
            got=str(part.iterations),
            cure="raise training.max_iter, which counts the trees that are there",
        )


def _name_parties(guest: str, hosts: tuple[str, ...]) -> str:
    return f"guest {guest}; hosts {', '.join(hosts)}"


def _refuse_constant(table: Table, binned: BinnedTable) -> None:
    """Raise InputError for a column whose rows all lie in one bin: no split is possible."""
    for number, (bins, digits) in enumerate(zip(binned.bins, binned.digits, strict=True)):
        if (digits == digits[0]).all():
            what = "is empty in every row" if digits[0] == bins.missing_bin else "has one value"
            raise InputError(
                f"a column of {table.name} {what}",
                expected="rows in two bins at least",
                got=f"column {table.feature_names[number]!r}",
                cure="name it under ignore in the site file, as it tells no row from another",
            )
