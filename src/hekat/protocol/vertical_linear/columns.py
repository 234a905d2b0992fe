"""A party's own columns and labels as a vertical regression trains on them: columns mixed, labels as targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Features, Table
from hekat.errors import InputError
from hekat.protocol.vertical.columns import Columns, prepare_columns
from hekat.protocol.vertical.guest_labels import read_labels
from hekat.protocol.vertical_linear.mixing import MIXING, apply_mixing, find_mixing
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TrainingColumns(Columns):
    """Columns as a vertical regression trains on them: where they are mixed, `features` are so, `unmixed` are those
    before."""

    mixing: FloatArray | None = None
    unmixed: Features | None = None

    @property
    def plain(self) -> Features:
        """The features as they are before columns are mixed."""
        return self.features if self.unmixed is None else self.unmixed


@dataclass(frozen=True)
class Targets:
    """A guest's labels as training takes them, (rows, K): -1 or 1 for each class, or the standardised numbers of a
    regression."""

    values: FloatArray
    mean: float = 0.0
    spread: float = 1.0


def prepare_training_columns(
    table: Table,
    settings: VerticalLinearSettings,
    batches: Sequence[npt.NDArray[np.int64]],
    kept: Mapping[str, npt.NDArray[Any]] | None = None,
    *,
    may_be_empty: bool = False,
) -> TrainingColumns:
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
    own = (columns.means, columns.spreads, columns.limited_count)
    if not training.mixes_columns:
        return TrainingColumns(columns.features, *own)
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
    return TrainingColumns(apply_mixing(columns.features, mixing), *own, mixing=mixing, unmixed=columns.features)


def may_lack_columns(settings: VerticalLinearSettings, party: str) -> bool:
    """Whether a party may come without columns: a guest with labels alone, where no gradient is opened to it."""
    return settings.form == "shared_weights" and party == settings.guest


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
