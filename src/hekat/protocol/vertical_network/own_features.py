"""A party's own columns as a training takes them, and the bottom that stands before the interactive layer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from hekat.data import Table, check_finite, describe_schema_difference
from hekat.data.features import to_dense
from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.model.split import Bottom, BottomMaker, BottomTask, dense_bottom, random_features, source_columns
from hekat.protocol.vertical.columns import apply_standardiser, describe_limited, prepare_columns
from hekat.protocol.vertical_network.fixed_point import FloatArray
from hekat.protocol.vertical_network.model_part import BOTTOM, MEANS, NO_TOP, SPREADS, NetworkPart, named, taken
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.settings import SEALED, VerticalNetworkSettings

NO_BOTTOM: Final = "none"
_SEED_BYTES = 16
_T = TypeVar("_T")
_M = TypeVar("_M")


@dataclass(frozen=True)
class OwnFeatures:
    """The prepared columns (rows, columns) of all common rows, how they were prepared, and the party's bottom.

    `bottom` is None at a guest without columns.
    """

    columns: FloatArray = field(repr=False)
    means: FloatArray = field(repr=False)
    spreads: FloatArray = field(repr=False)
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
    channel: RecordedChannel, table: Table, settings: VerticalNetworkSettings, run: NetworkRun, top_kind: str = NO_TOP
) -> OwnFeatures:
    """Prepare the columns of `table` and make the party's bottom for them, or take over the one it goes on with;
    `top_kind` is of the party's top.

    Raises InputError for columns that cannot be trained on, for a bottom of another width than the job's, and for a
    warm start from another kind of model.
    """
    columns, means, spreads = _prepare_columns(channel, table, settings, run)
    bottom = _make_bottom(channel.party, columns, settings, run) if columns.shape[1] else None
    if run.start_from is not None and run.resume_from is None:
        check_goes_on(run.start_from, settings, table.feature_names, top_kind, kind_of(bottom))
    if bottom is not None and run.begins_with is not None:
        bottom.begin_from(taken(BOTTOM, run.begins_with))
    return OwnFeatures(columns, means, spreads, bottom)


def _prepare_columns(
    channel: RecordedChannel, table: Table, settings: VerticalNetworkSettings, run: NetworkRun
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The columns as they are trained on, with means and spreads: an earlier training's where there is one."""
    training, before = settings.training, run.begins_with
    dense = Table(to_dense(table.features, table.name), None, table.feature_names, table.name)
    if before is not None:
        check_finite(dense)
        columns = standardised(dense, before[MEANS], before[SPREADS], training.limit)
        return columns, before[MEANS], before[SPREADS]
    prepared = prepare_columns(
        dense,
        standardise=training.standardise,
        limit_spreads=training.limit,
        may_be_empty=channel.party == settings.guest,
    )
    if prepared.limited_count:
        channel.ledger.note("setup", describe_limited(prepared, training.limit), "public")
    return np.asarray(prepared.features, np.float64), prepared.means, prepared.spreads


def _make_bottom(party: str, columns: FloatArray, settings: VerticalNetworkSettings, run: NetworkRun) -> Bottom:
    shape, training, is_guest = settings.network, settings.training, party == settings.guest
    is_sealed = settings.form == SEALED
    trains = (is_guest and not is_sealed) or settings.host_bottom == "trained"
    has_no_map = is_sealed or (not is_guest and settings.host_bottom == "source")
    width = shape.guest_width if is_guest else shape.width_of(party)
    task = BottomTask(
        columns[RowPlan.of(len(columns), training).trained],
        columns.shape[1] if has_no_map else width,
        trains,
        draw_seed(run, 0),
        training.learning_rate,
        shape.bottom_hidden,
        shape.activation,
    )
    make = source_columns if has_no_map else run.make_bottom or default_bottom(trains)
    bottom = call_maker(f"the bottom of {party}", make, task, Bottom)
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
    return bottom


def call_maker(what: str, make: Callable[[_T], _M], task: _T, form: type[Any]) -> _M:
    """What `make` makes for `task`, of the interface `form`. Raises InputError, which calls it `what`, for what is no
    maker, or makes something else."""
    made: object = make(task) if callable(make) and not hasattr(make, "state_dict") else make
    if made is make or any(not hasattr(made, name) for name in vars(form) if not name.startswith("_")):
        kind = form.__name__.lower()
        raise InputError(
            f"{what} cannot be made",
            expected=f"a function of a {type(task).__name__} that returns a {kind}",
            got=type(made).__name__ if made is make else f"a function that returns {type(made).__name__}",
            cure=f"give hekat.model.split.module_{kind}(FUNCTION), where FUNCTION returns a torch.nn.Module",
        )
    return cast(_M, made)


def kind_of(bottom: Bottom | None) -> str:
    """What a part of a model calls a bottom."""
    return NO_BOTTOM if bottom is None else bottom.kind


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


def check_goes_on(
    part: NetworkPart,
    settings: VerticalNetworkSettings,
    columns: tuple[str, ...],
    top_kind: str,
    bottom_kind: str | None = None,
) -> None:
    """Raise InputError unless training by `settings` on a party's `columns` may go on with its `part` (warm start).

    `top_kind` is of the party's top, NO_TOP where it has none. `bottom_kind` None: its bottom is not made yet. Weights
    that labels have moved as they are tell of them whatever replaces them afterwards, so a training with label privacy
    goes on with a model of the same alone.
    """
    same = "the same, in their order"
    private = settings.label_privacy is not None
    for what, expected, got in (
        ("parties", ", ".join(settings.parties), ", ".join(part.parties)),
        ("form", settings.form, part.form if SEALED in (settings.form, part.form) else settings.form),
        ("task", settings.task, part.task),
        ("classes", str(settings.classes), str(part.classes)),
        ("host_bottom", settings.host_bottom, part.host_bottom),
        ("sizes of layers", str(settings.network), str(part.network)),
        ("bottom", part.bottom_kind if bottom_kind is None else bottom_kind, part.bottom_kind),
        ("top", top_kind, part.top_kind),
        ("columns", same, describe_schema_difference(columns, part.columns) or same),
        ("label privacy", str(settings.label_privacy), str(part.label_privacy if private else None)),
    ):
        if expected != got:
            raise InputError(
                f"a warm start from other {what} at {part.party}",
                expected=expected,
                got=f"in the earlier part: {got}",
                cure="begin anew, or start from a model of the same kind",
            )
