"""The rows of one party's table that all parties have, in the order common to all."""

from __future__ import annotations

from collections.abc import Callable

from hekat.data import Table, check_has_ids
from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.protocol.psi.ids import make_ids
from hekat.protocol.psi.roles import IntersectionRun, run_intersection
from hekat.protocol.psi.rows import Positions
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch

INTERSECTION = "intersection"
"""The part of a role's time that is spent on finding common rows."""


def common_rows_of(
    channel: RecordedChannel,
    table: Table,
    settings: IntersectionSettings,
    stopwatch: Stopwatch,
    progress: Callable[[str, int, int], None] | None = None,
) -> Positions:
    """The numbers (count,) int64 of this party's rows that all have; place k is the same id at every party.

    All that the intersection takes is one part of time, INTERSECTION, to a protocol that goes on with the rows. Raises
    InputError where the table has no ids, and where no row is common; else as `run_intersection`.
    """
    check_has_ids(table)
    assert table.ids is not None
    own = Stopwatch()
    try:
        ids = make_ids(table.ids.columns, table.name)
        found = run_intersection(channel, ids, settings, IntersectionRun(own, progress))
    finally:
        stopwatch.seconds[INTERSECTION] += sum(own.seconds.values())
    assert found.rows is not None
    if not found.rows.size:
        raise InputError(
            "no row is common to all parties",
            expected="ids that all parties have",
            got="none",
            cure="check that all parties write ids alike: the same columns in the same order, the same spelling",
        )
    return found.rows
