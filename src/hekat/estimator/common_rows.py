"""The rows that all parties have, by set intersection of their ids; every party's rows come out in the same order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import InputError
from hekat.estimator.one_machine import OneMachine
from hekat.estimator.party_tables import read_parties
from hekat.ledger import AuditReport, RecordedChannel
from hekat.protocol.psi.common_rows import common_rows_of as rows_common_to_all
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch

Rows = npt.NDArray[np.int64]
DEFAULT_TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class CommonRows:
    """`tables` of the common rows alone, in the same order at each party; `rows` are their numbers in the tables that
    were given; `ledgers` say what each party learned."""

    tables: dict[str, Table]
    rows: dict[str, Rows]
    ledgers: dict[str, AuditReport]


def find_common_rows(
    tables: Mapping[str, Table],
    *,
    guest: str | None = None,
    intersection: str = "ecdh",
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> CommonRows:
    """Play a set intersection of all parties on this machine: which rows do all have?

    Args:
        tables: each party's, with ids.
        guest: compares with each of the others, and learns what it has in common with each. None: the first party.
        intersection: "ecdh" or "rsa_blind".
        timeout_s: how long a role waits for one message, in seconds.

    Returns:
        The tables of the common rows, in the same order at each party, their row numbers, and what each learned.

    Raises:
        InputError: a table without ids; no row is common.

    Examples:
        >>> from hekat.data import Table
        >>> bank = Table(np.ones((3, 1)), None, ("income",), ids=["ann", "bo", "cy"])
        >>> shop = Table(np.ones((2, 1)), None, ("spent",), ids=["cy", "ann"])
        >>> sorted(find_common_rows({"bank": bank, "shop": shop}).rows["bank"].tolist())
        [0, 2]
    """
    parties = read_parties(tables, None, guest)
    names = tuple(parties)
    settings = IntersectionSettings(names[0], names[1:], kind=intersection)
    machine = OneMachine("psi", timeout_s)
    roles = {name: partial(_role, parties[name], settings) for name in names}
    rows = machine.play(roles, settings)
    return CommonRows({name: tables[name].take(rows[name]) for name in names}, rows, machine.audits)


def common_rows_of(
    channel: RecordedChannel, table: Table, settings: IntersectionSettings, stopwatch: Stopwatch
) -> Rows:
    """The numbers of this party's rows that all have, in the order common to all. Raises InputError where there are
    none, or the table has no ids."""
    if table.ids is None:
        raise InputError(
            f"{table.name} has no ids to find common rows by",
            expected="an id for each row",
            got="none",
            cure="give a hekat.data.Table with ids; or intersection=None where rows are already of the same records, "
            "row by row",
        )
    return rows_common_to_all(channel, table, settings, stopwatch)


def _role(table: Table, settings: IntersectionSettings, channel: RecordedChannel, stopwatch: Stopwatch) -> Rows:
    return common_rows_of(channel, table, settings, stopwatch)
