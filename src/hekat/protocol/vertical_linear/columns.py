"""A party's own columns and labels, made ready for training: checked, standardised, labels as targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Features, Table, check_finite, find_constant_columns, is_dense
from hekat.data.columns.moments import column_means, deviation_moments, largest_deviations, largest_magnitudes
from hekat.errors import InputError
from hekat.protocol.vertical.guest_labels import read_labels
from hekat.protocol.vertical_linear.mixing import MIXING, apply_mixing, find_mixing
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Features (rows, columns) as training takes them: (x - means) / spreads; without standardising means are 0 and
    spreads 1.

    Sparse rows are scaled and not centred, because a mean taken away would leave no zero. `limited_count` values lay
    beyond the limit and were set to it. Where columns are mixed, `features` are so, `unmixed` are those before.
    """

    features: Features
    means: FloatArray
    spreads: FloatArray
    limited_count: int = 0
    mixing: FloatArray | None = None
    unmixed: Features | None = None

    @property
    def plain(self) -> Features:
        """The features as they are before columns are mixed."""
        return self.features if self.unmixed is None else self.unmixed

    @property
    def largest(self) -> float:
        """The largest magnitude of any prepared feature."""
        return float(largest_magnitudes(self.features).max(initial=0.0))


@dataclass(frozen=True)
class Targets:
    """A guest's labels as training takes them, (rows, K): -1 or 1 for each class, or the standardised numbers of a
    regression."""

    values: FloatArray
    mean: float = 0.0
    spread: float = 1.0


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


def prepare_training_columns(
    table: Table,
    settings: VerticalLinearSettings,
    batches: Sequence[npt.NDArray[np.int64]],
    kept: Mapping[str, npt.NDArray[Any]] | None = None,
    *,
    may_be_empty: bool = False,
) -> Columns:
    """Prepare the columns of `table` as the settings say, mixed where they say so.

    `kept` are the arrays of the state or model part that training goes on from: their mixing is used again, because
    their weights are of its columns. Raises InputError as `prepare_columns`, and for a mixing of other columns.
    """
    training = settings.training
    columns = prepare_columns(
        table,
        standardise=training.standardise,
        limit_spreads=settings.limit_spreads,
        may_be_empty=may_be_empty,
    )
    if not training.mixes_columns:
        return columns
    mixing = None if kept is None else kept.get(MIXING)
    if mixing is None:
        mixing = find_mixing(columns.features, batches)
    elif mixing.shape[-1:] != columns.features.shape[1:]:
        raise InputError(
            f"{table.name} has other columns than the training that it goes on with",
            expected=f"{mixing.shape[-1]} columns",
            got=f"{columns.features.shape[1]}",
            cure="begin anew",
        )
    return replace(columns, features=apply_mixing(columns.features, mixing), mixing=mixing, unmixed=columns.features)


def may_lack_columns(settings: VerticalLinearSettings, party: str) -> bool:
    """Whether a party may come without columns: a guest with labels alone, where no gradient is opened to it."""
    return settings.form == "shared_weights" and party == settings.guest


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


def prepare_targets(table: Table, settings: VerticalLinearSettings) -> Targets:
    """Turn the guest's labels into targets. Raises InputError where labels are missing or all the same."""
    labels = read_labels(table, settings)
    if settings.task == "linear":
        return _numeric_targets(labels.astype(np.float64), standardise=settings.training.standardise)
    if settings.column_count == 1:
        return Targets(np.where(labels == 1, 1.0, -1.0)[:, np.newaxis])
    return Targets(np.where(labels[:, np.newaxis] == np.arange(settings.column_count), 1.0, -1.0))


def _numeric_targets(labels: FloatArray, *, standardise: bool) -> Targets:
    if not standardise:
        return Targets(labels[:, np.newaxis])
    mean = float(labels.mean())
    spread = float(labels.std())
    return Targets(((labels - mean) / spread)[:, np.newaxis], mean, spread)


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
