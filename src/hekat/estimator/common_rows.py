"""The rows that all parties have, by set intersection of their ids; every party's rows come out in the same order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.estimator.one_machine import OneMachine
from hekat.estimator.party_tables import check_ids, read_parties
from hekat.ledger import AuditReport, RecordedChannel
from hekat.protocol.psi.common_rows import common_rows_of
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

    `guest` (else the first party) compares with each of the others, and learns what it has in common with each. Every
    party learns which of its own rows are common to all. Raises InputError for a table without ids, and where no row
    is common.
    """
    parties = read_parties(tables, None, guest)
    check_ids(parties.values())
    names = tuple(parties)
    settings = IntersectionSettings(names[0], names[1:], kind=intersection)
    machine = OneMachine("psi", timeout_s)
    roles = {name: partial(_role, parties[name], settings) for name in names}
    rows = machine.play(roles, settings)
    return CommonRows({name: tables[name].take(rows[name]) for name in names}, rows, machine.audits)


def _role(table: Table, settings: IntersectionSettings, channel: RecordedChannel, stopwatch: Stopwatch) -> Rows:
    return common_rows_of(channel, table, settings, stopwatch)
