"""Fills that follow from one table alone, where a column has one owner: worked out once, then stated like any other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hekat.data.columns.fill_in import fill_in
from hekat.data.columns.order_keys import lower_median
from hekat.data.columns.specs import CATEGORY_FILL, ColumnSpecs
from hekat.data.features import is_dense
from hekat.data.table import OpenFill, Table
from hekat.errors import InputError


def settle_fills(table: Table, specs: ColumnSpecs) -> tuple[Table, ColumnSpecs]:
    """Fill a table from its own rows, by the rules of its open fills; categories that were found in it are listed.

    A median is the lower one of two in the middle, rounded to 29 significant bits, as among parties with the same
    columns. Of equally frequent categories the first one is taken.

    Args:
        table: The table.
        specs: The description that it was encoded by.

    Returns:
        The table without open fills, and the description with each rule replaced by the fill that it gave, and with the
        categories that were found: other rows are encoded alike by it.

    Raises:
        InputError: A column has no value in any row.
    """
    if not (table.open_fills or table.settled):
        return table, specs
    position = {name: number for number, name in enumerate(table.feature_names)}
    # Columns without a rule keep the empty cells that they may have.
    fills = np.full(len(table.feature_names), np.nan)
    settled = {spec.name: spec for spec in (*specs, *table.settled)}
    for one in table.open_fills:
        columns = [position[name] for name in one.names]
        chosen = _chosen(table, one, columns)
        described = replace(specs, specs=tuple(settled.values()))
        source = described.source_of(one.names[0])
        spec = described.find(source)
        assert spec is not None  # it has a rule
        if one.rule == CATEGORY_FILL:
            fills[columns] = 0.0
            fills[columns[int(chosen)]] = 1.0
            stated = {
                key: spec.buckets[int(chosen)] for key in ("fill", "unknown") if getattr(spec, key) == CATEGORY_FILL
            }
            settled[source] = replace(spec, **stated)  # type: ignore[arg-type]  # texts for fields of texts
        else:
            fills[columns[0]] = chosen
            settled[source] = replace(spec, fill=chosen)
    filled = replace(table, features=fill_in(table.features, fills), open_fills=(), settled=())
    return filled, replace(specs, specs=tuple(settled.values()))


def _chosen(table: Table, fill: OpenFill, columns: list[int]) -> float:
    """The fill of a column of numbers, or the place of the most frequent category."""
    part = table.features[:, columns]
    cells = part if is_dense(part) else part.toarray()
    cells = cells[~np.isnan(cells[:, 0])]
    if not cells.size:
        raise InputError(
            f"{table.name}: column {fill.names[0]!r} is empty in every row",
            expected="a value in some row, from which a fill follows",
            got="none",
            cure="set ignore = true for the column in the job, or a number as its fill",
        )
    if fill.rule == CATEGORY_FILL:
        return float(np.argmax(cells.sum(axis=0)))
    return lower_median(cells[:, 0]) if fill.rule == "median" else float(cells[:, 0].mean())
