"""What a party checks before any joint prediction: whose part of the model it has, and the columns of the rows."""

from __future__ import annotations

from typing import Protocol

from hekat.data import Table, arrange_columns, describe_schema_difference
from hekat.errors import InputError


class HeldPart(Protocol):
    """A party's part of a model on columns."""

    @property
    def party(self) -> str: ...

    @property
    def guest(self) -> str: ...

    @property
    def hosts(self) -> tuple[str, ...]: ...

    @property
    def columns(self) -> tuple[str, ...]: ...


class PredictingParties(Protocol):
    """The parties that predict together."""

    @property
    def guest(self) -> str: ...

    @property
    def hosts(self) -> tuple[str, ...]: ...

    @property
    def parties(self) -> tuple[str, ...]: ...


def check_part(party: str, part: HeldPart, settings: PredictingParties) -> None:
    """Raise InputError unless the part is the party's own, of a model of the parties that predict."""
    if part.party != party:
        raise InputError(
            "a part of another party", expected=f"the part of {party!r}", got=f"the part of {part.party!r}"
        )
    if (part.guest, part.hosts) != (settings.guest, settings.hosts):
        raise InputError(
            "a model of other parties",
            expected=", ".join(settings.parties),
            got=", ".join((part.guest, *part.hosts)),
            cure="predict with the guest and the hosts that trained the model",
        )


def arrange_rows(part: HeldPart, table: Table) -> Table:
    """The rows of `table` with the columns in the order of the part. Raises InputError for other columns, or no row."""
    rows = arrange_columns(table, part.columns)
    difference = describe_schema_difference(part.columns, rows.feature_names)
    if difference:
        raise InputError(
            f"{table.name} has other columns than {part.party} trained with",
            expected=f"{len(part.columns)} columns, found by their names",
            got=difference,
            cure="give the table the columns of training, or ignore columns in the site file",
        )
    if not len(rows):
        raise InputError(f"{table.name} has no rows to predict", expected="at least one row", got="none")
    return rows
