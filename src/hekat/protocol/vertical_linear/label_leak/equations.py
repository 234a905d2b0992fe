"""The rules on gradients as equations, which refuse a job with an arbiter unless it accepts the leak in words.

A host sees X^T d of its own columns X for each batch: as many linear equations on the residuals d, and so on the
labels, as it has columns. Batches stay the same, so later epochs add no equations. With K classes the host sees K
gradients, each of other residuals: equations and unknowns grow alike, so K is not in the count.

The guest sees the same for A, its columns and its column of ones. It knows the labels, so it has equations on A^T s,
where s are the hosts' scores. All scores of a batch are s = X w, whatever the epoch and the class, so everything that
the guest's gradients ever tell follows from [A y]^T X and X^T X of each batch (docs/decisions/0040). The rule therefore
counts the guest's equations in the same way: A's columns, on the values that a host's column has in the batch.

A gradient tells a row that outweighs the rest of a column in a batch (`leverage`) nearly by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hekat.errors import PolicyError
from hekat.first_few import first_few
from hekat.protocol.vertical_linear.label_leak.cures import ways_out
from hekat.protocol.vertical_linear.label_leak.leverage import MAX_LEVERAGE
from hekat.protocol.vertical_linear.settings import (
    COLUMN_LEAK_ACCEPTED,
    DEFAULT_LIMIT_SPREADS,
    LEAK_ACCEPTED,
    VerticalLinearSettings,
)

ROWS_PER_EQUATION = 10
_SHOWN = 10


@dataclass(frozen=True)
class LeakCount:
    """What a party's gradients tell of the rows, as the rules count it.

    The guest's `column_count` includes its column of ones. `high_leverage_columns` is the number of columns in which
    one row outweighs the rest of a batch.
    """

    party: str
    batch_count: int
    column_count: int
    row_count: int
    high_leverage_columns: int = 0

    @property
    def equation_count(self) -> int:
        """One equation for each column and batch."""
        return self.batch_count * self.column_count

    def describe(self) -> str:
        """The line of the ledger that says what the party learns."""
        return (
            f"{self.party} learns its gradients: {self.equation_count:,} linear equations over {self.row_count:,} rows "
            f"({self.batch_count} batches x {self.column_count} columns)"
        )


def check_equations(count: LeakCount, settings: VerticalLinearSettings) -> None:
    """Raise PolicyError where a party could solve for what others hold: a host for labels, the guest for columns.

    The job may accept either leak, each in words of its own.
    """
    told, waived, cures = _at_stake(count, settings)
    if waived or count.equation_count * ROWS_PER_EQUATION <= count.row_count:
        return
    rows = f"{count.row_count:,} rows" if count.batch_count > 1 else f"the {count.row_count:,} rows of one batch"
    raise PolicyError(
        f"the gradients of {told}",
        expected=f"at most {count.row_count // ROWS_PER_EQUATION:,} equations: a tenth of {rows}",
        got=f"{count.equation_count}: {_say(count.batch_count, 'batch', 'batches')} x "
        f"{_say(count.column_count, 'column', 'columns')}",
        cure=", ".join([*_fewer_equations(count, settings), *cures]),
    )


def _fewer_equations(count: LeakCount, settings: VerticalLinearSettings) -> list[str]:
    """The batches and the columns that would pass; a count of one batch may be one of several."""
    ones = count.party == settings.guest
    most_columns = count.row_count // (ROWS_PER_EQUATION * count.batch_count) - ones
    batches = count.row_count // (ROWS_PER_EQUATION * count.column_count)
    rows = -(-count.row_count // batches) if batches else 0
    return [
        *([f"set training.batch_rows = {rows} or more"] if batches and count.batch_count > 1 else []),
        *([f"train on at most {_say(most_columns, 'column', 'columns')} of {count.party}"] if most_columns > 0 else []),
    ]


def check_leverage(count: LeakCount, settings: VerticalLinearSettings, names: Sequence[str] = ()) -> None:
    """Raise PolicyError where a column tells what others hold in single rows, unless the job accepts that.

    `names` are the columns that do, where the party itself checks its own.
    """
    told, waived, cures = _at_stake(count, settings, of="single rows of hosts' columns", labels="labels of single rows")
    if waived or not count.high_leverage_columns:
        return
    spreads = settings.limit_spreads
    if settings.training.standardise and not 0 < spreads <= DEFAULT_LIMIT_SPREADS:
        cures = [f"set training.limit_spreads = {DEFAULT_LIMIT_SPREADS:g}", *cures]
    raise PolicyError(
        f"{_say(count.high_leverage_columns, 'column', 'columns')} of {told}",
        expected=f"no row with more than {MAX_LEVERAGE:g} of a column's sum of squares in a batch, about any centre",
        got=f"one that outweighs the rest there{_name_columns(names)}",
        cure=", ".join(
            ["leave rare categories out or merge them", "take logarithms of long tails", "use larger batches", *cures]
        ),
    )


def _name_columns(names: Sequence[str]) -> str:
    return f": {first_few([*map(repr, names)], _SHOWN)}" if names else ""


def _say(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _at_stake(
    count: LeakCount, settings: VerticalLinearSettings, *, of: str = "columns of hosts", labels: str = "labels"
) -> tuple[str, bool, list[str]]:
    """Which party would tell what (`of` hosts, or `labels`), whether the job accepts it, and what else it can do."""
    if count.party == settings.guest:
        told, waived = f"guest {count.party} would tell {of}", settings.column_leak_accepted == COLUMN_LEAK_ACCEPTED
    else:
        told, waived = f"host {count.party} would tell {labels}", settings.label_leak_accepted == LEAK_ACCEPTED
    return told, waived, ways_out(settings, of_guest=count.party == settings.guest)
