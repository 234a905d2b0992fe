"""A party's own columns, made ready for training: checked, standardised, and kept within a limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.data import Features, Table, check_finite, find_constant_columns, is_dense
from hekat.data.columns.moments import column_means, deviation_moments, largest_deviations, largest_magnitudes
from hekat.errors import InputError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Features (rows, columns) as training takes them: (x - means) / spreads; without standardising means are 0 and
    spreads 1.

    Sparse rows are scaled and not centred, because a mean taken away would leave no zero. `limited_count` values lay
    beyond the limit and were set to it.
    """

    features: Features
    means: FloatArray
    spreads: FloatArray
    limited_count: int = 0

    @property
    def largest(self) -> float:
        """The largest magnitude of any prepared feature."""
        return float(largest_magnitudes(self.features).max(initial=0.0))


def prepare_columns(
    table: Table, *, standardise: bool, limit_spreads: float = 0.0, may_be_empty: bool = False
) -> Columns:
    """Prepare the columns of `table`: standardised where `standardise`, then kept within `limit_spreads` of 0.

    `may_be_empty`: a table without columns will do, as a guest's that has labels alone. Raises InputError for a table
    without columns, fewer than 2 rows, NaN or infinity, and a column with one value.
    """
    if not table.features.shape[1] and not may_be_empty:
        raise InputError(
            f"{table.name} has no columns",
            expected="at least one feature at every party",
            got="none",
            cure="give the party a column, or leave it out of the job",
        )
    if len(table) < 2:
        raise InputError(
            f"{table.name} has too few rows",
            expected="at least 2 rows that all parties have",
            got=str(len(table)),
            cure="check that all parties write ids alike",
        )
    check_finite(table)
    _refuse_constant_columns(table)
    column_count = table.features.shape[1]
    if not standardise or not column_count:
        return Columns(table.features, np.zeros(column_count), np.ones(column_count))
    means, spreads = _moments_of(table.features)
    standardised = apply_standardiser(table.features, means, spreads)
    if not limit_spreads:
        return Columns(standardised, means, spreads)
    values = standardised if is_dense(standardised) else standardised.data
    limited_count = int(np.count_nonzero(np.abs(values) > limit_spreads))
    # This array was made here, so that nobody else sees it change.
    np.clip(values, -limit_spreads, limit_spreads, out=values)
    return Columns(standardised, means, spreads, limited_count)


def apply_standardiser(
    features: Features, means: FloatArray, spreads: FloatArray, limit_spreads: float = 0.0
) -> Features:
    """Standardise features: (x - means) / spreads, no further from 0 than `limit_spreads` (0: no limit).

    Dense features stay dense and sparse ones sparse. Raises InputError for sparse rows with a mean other than 0.
    """
    if is_dense(features):
        return limit_values(np.asarray((features - means) / spreads), limit_spreads)
    if means.any():
        raise InputError(
            "sparse rows cannot be centred",
            expected="dense rows, or a model that was trained on sparse ones",
            got="sparse rows and means that are not 0",
            cure="use sparse = true where the model is trained, or dense rows here",
        )
    scaled = features.copy()
    scaled.data = limit_values(features.data / spreads[features.indices], limit_spreads)
    return scaled


def limit_values(values: FloatArray, limit_spreads: float) -> FloatArray:
    """Set standardised values beyond `limit_spreads` to it; where the limit is 0, change nothing."""
    return np.clip(values, -limit_spreads, limit_spreads) if limit_spreads else values


def describe_limited(columns: Columns, limit_spreads: float) -> str:
    """The line of the ledger that says how many values were set to the limit."""
    return (
        f"{columns.limited_count} values of this party's columns lay more than {limit_spreads:g} spreads from their "
        "mean, and were set to that"
    )


def _moments_of(features: Features) -> tuple[FloatArray, FloatArray]:
    """Mean (0 for sparse rows) and spread of each column. A mean far from 0 or a tiny unit costs no digits."""
    unit = largest_magnitudes(features)  # above 0: constant columns were refused
    rough = column_means(features, unit) * unit
    deviation = largest_deviations(features, rough, unit) * unit
    offset, square = deviation_moments(features, rough, deviation)
    spreads = np.sqrt(np.maximum(square - offset**2, 0.0)) * deviation
    means = rough + offset * deviation if is_dense(features) else np.zeros(unit.size)
    return means, spreads


def _refuse_constant_columns(table: Table) -> None:
    constant = find_constant_columns(table)
    if constant:
        raise InputError(
            f"{table.name} has a feature with one value",
            expected="at least two different values in each column",
            got=f"column {constant[0]!r}" + (f" and {len(constant) - 1} more" if len(constant) > 1 else ""),
            cure="name it under ignore in the site file, as it tells no row from another; COLUMN=CATEGORY comes from "
            "the job's [columns.COLUMN]: take the category out there, or ignore the whole column",
        )
