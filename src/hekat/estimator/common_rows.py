"""The rows that all parties have, by set intersection of their ids, in one order at every party."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.estimator.data_frames import IdName
from hekat.estimator.party_tables import check_ids, read_parties
from hekat.estimator.played_roles import play_roles
from hekat.ledger import AuditReport, RecordedChannel
from hekat.protocol.psi.common_rows import common_rows_of
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch

Rows = npt.NDArray[np.int64]
DEFAULT_TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class CommonRows:
    """What a set intersection on this machine gives.

    Attributes:
        tables: Each party's common rows alone, in the same order at each party.
        rows: The numbers of these rows in the tables that were given, int64 (rows,), by party.
        ledgers: What each party learned, by party.

    Examples:
        >>> from hekat.data import Table
        >>> from hekat.estimator import find_common_rows
        >>> bank = Table([[1.0], [2.0], [3.0]], None, ("age",), "bank", ids=["ann", "bob", "cid"])
        >>> insurer = Table([[7.0], [8.0]], None, ("claims",), "insurer", ids=["cid", "ann"])
        >>> common = find_common_rows({"bank": bank, "insurer": insurer})
        >>> [party for party, table in common.tables.items() if len(table) == 2]
        ['bank', 'insurer']
        >>> sorted(common.ledgers)
        ['bank', 'insurer']
    """

    tables: dict[str, Table]
    rows: dict[str, Rows]
    ledgers: dict[str, AuditReport]


def find_common_rows(
    tables: Mapping[str, Any],
    *,
    guest: str | None = None,
    id: IdName = None,
    intersection: str = "ecdh",
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> CommonRows:
    """Play a set intersection of all parties on this machine: which rows do all of them have?

    The guest compares its rows with each of the other parties, and learns what it has in common with each. Every party
    learns which of its own rows are common to all.

    Args:
        tables: Each party's Table with ids, or its data frame where `id` is set.
        guest: The party that compares; None: the first one.
        id: The column of every data frame with the ids, or `{party: column}`; `"index"`: the frames' index.
        intersection: `"ecdh"` or `"rsa_blind"`.
        timeout_s: How long a party waits for one message, in seconds.

    Returns:
        The common rows of every party, in one order.

    Raises:
        InputError: a table has no ids, ids are of different kinds, or no row is common.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table
        >>> from hekat.estimator import find_common_rows
        >>> bank = Table(np.eye(4), None, ("a", "b", "c", "d"), "bank", ids=["ann", "bob", "cid", "dan"])
        >>> insurer = Table(np.eye(3), None, ("u", "v", "w"), "insurer", ids=["eve", "dan", "bob"])
        >>> found = find_common_rows({"bank": bank, "insurer": insurer})
        >>> {party: sorted(rows.tolist()) for party, rows in found.rows.items()}
        {'bank': [1, 3], 'insurer': [1, 2]}
        >>> len(found.tables["bank"])
        2
    """
    parties = read_parties(tables, None, guest, id)
    check_ids(parties.values())
    names = tuple(parties)
    settings = IntersectionSettings(names[0], names[1:], kind=intersection)
    roles = {name: partial(_role, parties[name], settings) for name in names}
    played = play_roles(roles, "psi", settings, timeout_s)
    rows = played.results
    # A Table as it was given still has its labels.
    given = {name: tables[name] if isinstance(tables[name], Table) else parties[name] for name in names}
    return CommonRows({name: table.take(rows[name]) for name, table in given.items()}, rows, played.audits)


def _role(table: Table, settings: IntersectionSettings, channel: RecordedChannel, stopwatch: Stopwatch) -> Rows:
    return common_rows_of(channel, table, settings, stopwatch)
