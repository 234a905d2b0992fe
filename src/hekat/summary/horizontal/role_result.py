"""What one role of a horizontal run leaves behind besides its files: plain data for summaries."""

from __future__ import annotations

from dataclasses import dataclass, field

from hekat.protocol.horizontal.training.training_state import RoundRecord
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.horizontal.traffic import SumTraffic, Traffic


@dataclass(frozen=True)
class MaskFacts:
    """`masked` of `values` weights of every update were masked, by the mask of this digest."""

    masked: int
    values: int
    sha256: str


@dataclass(frozen=True)
class TrainedFacts:
    """What training ended with at a party: the same at every party that was there at the end.

    `metrics` are measured on the common test set, empty without one; `validation` on all held-out rows. `losses` are
    of all rounds, also of those before a resumed run. `parameter_count` counts the values of the model.
    """

    rounds_done: int
    losses: tuple[float, ...]
    metrics: dict[str, float]
    validation: dict[str, float]
    parameter_count: int
    folds: tuple[dict[str, float], ...] = ()
    """By fold: metrics of its model on the rows of the fold, over all parties, and its "rounds"."""
    mask: MaskFacts | None = None
    """Of the last round, where a part of every update was masked."""
    largest_weight: float | None = None
    """Of a classification on standardised columns, by a model of Hekat's own: None for any other."""


@dataclass(frozen=True)
class RowsResult:
    """One role's end, whatever was trained. `seconds` are of its whole session by its clock, `seconds_by_step` of its
    own work.

    `table` is a party's. `members` were drawn in the run; None where all parties are members, or nobody is.
    `not_compared` names parties with which the final model could not be compared.
    """

    role: str
    seconds: float
    seconds_by_step: dict[str, float]
    traffic: Traffic
    table: TableFacts | None = None
    members: tuple[str, ...] | None = None
    not_compared: tuple[str, ...] = ()
    to_leave_in: int | None = None
    """The round or iteration in which the party was to leave, to see the others go on."""
    keeps_older_committee: bool = False
    """The run goes on with the committee of a release that drew none."""
    records_with_run: bool = False
    """Upload numbers and records of releases lie in the run's folder, and another run knows nothing of them."""
    other_sums_accepted: bool = False
    """The role's operator allowed the job to sum other parties than before."""


@dataclass(frozen=True)
class RoleResult(RowsResult):
    """One role's end in a horizontal run.

    `records` and `metrics` (of each record, on the common test set) are a party's. `trained` is None at a role without
    rows and at a party that did not reach the end. `sum_traffic` is of the last round's sum, None where the party was
    not in it.
    """

    records: tuple[RoundRecord, ...] = ()
    metrics: tuple[dict[str, float], ...] = ()
    trained: TrainedFacts | None = None
    sum_traffic: SumTraffic | None = None
    packing: Packing | None = None
    constant_columns: tuple[str, ...] = ()
    """Columns that hold one value in every row of all parties, where columns were standardised in this run."""
    dominated_columns: tuple[str, ...] = ()
    """Columns in which a single row of all parties makes up a fifth of the variance or more, where they were."""
    columns_apart: tuple[str, ...] = ()
    """Columns in which this party's rows lie beside the rows of all others, as with another unit, where they were."""
    model_caveats: tuple[str, ...] = field(default=())
    """What a reader of the run's report has to know of a model that is not Hekat's own."""
