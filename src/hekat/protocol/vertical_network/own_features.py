"""A party's own columns as a training takes them, and the bottom that stands before the interactive layer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table, check_finite
from hekat.data.features import to_dense
from hekat.errors import InputError
from hekat.model.split import Bottom, BottomMaker, BottomTask, dense_bottom, random_features, source_columns
from hekat.protocol.vertical_linear.columns import apply_standardiser, prepare_columns
from hekat.protocol.vertical_network.fixed_point import FloatArray
from hekat.protocol.vertical_network.model_part import BOTTOM, MEANS, SPREADS, NetworkPart, named, taken
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings

_SEED_BYTES = 16


@dataclass(frozen=True)
class OwnFeatures:
    """The prepared columns (rows, columns) of all common rows, how they were prepared, and the party's bottom.

    `bottom` is None at a guest without columns.
    """

    columns: FloatArray = field(repr=False)
    means: FloatArray = field(repr=False)
    spreads: FloatArray = field(repr=False)
    limited_count: int
    bottom: Bottom | None

    @property
    def width(self) -> int:
        """m, the inputs that this party gives the interactive layer."""
        return 0 if self.bottom is None else self.bottom.width

    def arrays(self, *, with_state: bool) -> dict[str, npt.NDArray[Any]]:
        """What a part of the model keeps of them; with the optimiser's state where a training goes on."""
        tensors: Mapping[str, npt.NDArray[Any]] = {}
        if self.bottom is not None:
            tensors = self.bottom.state_arrays() if with_state else self.bottom.arrays()
        return {MEANS: self.means, SPREADS: self.spreads, **named(BOTTOM, tensors)}


def draw_seed(run: NetworkRun, purpose: int) -> int:
    """A secret number that this party draws something from: the run's, or of the operating system."""
    if run.seed is None:
        return int.from_bytes(os.urandom(_SEED_BYTES), "little")
    words = np.random.SeedSequence([run.seed, purpose]).generate_state(2, np.uint64)
    return int(words[0]) << 64 | int(words[1])


def prepare_own_features(
    table: Table, settings: VerticalNetworkSettings, run: NetworkRun, party: str, trained_rows: npt.NDArray[np.int64]
) -> OwnFeatures:
    """Prepare the columns of `table` and make the party's bottom for them, or take over the one it goes on with.

    Raises InputError for columns that cannot be trained on, and for a bottom of another width than the job's.
    """
    is_guest, training = party == settings.guest, settings.training
    before = run.begins_with
    dense = Table(to_dense(table.features, table.name), None, table.feature_names, table.name)
    if before is None:
        prepared = prepare_columns(
            dense,
            standardise=training.standardise,
            limit_spreads=training.limit_spreads,
            may_be_empty=is_guest,
        )
        means, spreads, limited = prepared.means, prepared.spreads, prepared.limited_count
        columns = np.asarray(prepared.features, np.float64)
    else:
        check_finite(dense)
        means, spreads, limited = before[MEANS], before[SPREADS], 0
        columns = standardised(dense, means, spreads, training.limit_spreads)
    if not columns.shape[1]:
        return OwnFeatures(columns, means, spreads, limited, None)
    shape = settings.network
    trains = is_guest or settings.host_bottom == "trained"
    has_no_map = not is_guest and settings.host_bottom == "source"
    task = BottomTask(
        columns[trained_rows],
        columns.shape[1] if has_no_map else shape.guest_width if is_guest else shape.width_of(party),
        trains,
        draw_seed(run, 0),
        training.learning_rate,
        shape.bottom_hidden,
        shape.activation,
    )
    make = source_columns if has_no_map else run.make_bottom or default_bottom(trains)
    bottom = make(task)
    _check_bottom(bottom, task, party)
    if before is not None:
        bottom.begin_from(taken(BOTTOM, before))
    return OwnFeatures(columns, means, spreads, limited, bottom)


def default_bottom(trains: bool) -> BottomMaker:
    """Hekat's own bottom."""
    return dense_bottom if trains else random_features


def standardised(table: Table, means: FloatArray, spreads: FloatArray, limit_spreads: float) -> FloatArray:
    """The columns of `table` as an earlier training prepared its own. Raises InputError for another number of them."""
    if table.features.shape[1] != len(means):
        raise InputError(
            f"{table.name} has other columns than the training that it goes on with",
            expected=f"{len(means)} columns",
            got=f"{table.features.shape[1]}",
            cure="begin anew",
        )
    return np.asarray(apply_standardiser(table.features, means, spreads, limit_spreads), np.float64)


def _check_bottom(bottom: Bottom, task: BottomTask, party: str) -> None:
    for what, expected, got in (
        ("width", task.width, bottom.width),
        ("kind: whether it trains", task.trains, bottom.trains),
    ):
        if expected != got:
            raise InputError(
                f"the bottom of {party} has another {what} than the job says",
                expected=str(expected),
                got=str(got),
                cure="correct the bottom, or the job's network and protection.host_bottom",
            )


def check_goes_on(part: NetworkPart, settings: VerticalNetworkSettings, columns: tuple[str, ...], kind: str) -> None:
    """Raise InputError unless training by `settings` on a party's `columns` may go on with its `part` (warm start)."""
    for what, expected, got in (
        ("parties", ", ".join(settings.parties), ", ".join(part.parties)),
        ("task", settings.task, part.task),
        ("classes", str(settings.classes), str(part.classes)),
        ("host_bottom", settings.host_bottom, part.host_bottom),
        ("sizes of layers", str(settings.network), str(part.network)),
        ("bottom", kind, part.bottom_kind),
        ("columns", ", ".join(columns), ", ".join(part.columns)),
    ):
        if expected != got:
            raise InputError(
                f"a warm start from other {what} at {part.party}",
                expected=expected,
                got=f"in the earlier part: {got}",
                cure="begin anew, or start from a model of the same kind",
            )
