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
"""The label of the time that a role spends on finding common rows."""


def common_rows_of(
    channel: RecordedChannel,
    table: Table,
    settings: IntersectionSettings,
    stopwatch: Stopwatch,
    progress: Callable[[str, int, int], None] | None = None,
) -> Positions:
    """Find the rows of `table` that all parties have.

    A protocol that goes on with the rows sees the whole time of the intersection under one label, INTERSECTION.

    Args:
        channel: The party's open session with the others.
        table: The party's own rows, with ids.
        settings: What all parties agreed on; every party must be a learner.
        stopwatch: Where the time of the intersection is added up.
        progress: Called some times a second as `progress(what, done, total)`.

    Returns:
        The numbers of the common rows, int64 (count,); place k is the same id at every party.

    Raises:
        InputError: the table has no ids, or no row is common; and as `run_intersection` raises it.
        ProtocolError: a peer departs from the protocol.
    """
    check_has_ids(table)
    assert table.ids is not None
    own = Stopwatch()
    try:
        ids = make_ids(table.ids.columns, table.name)
        intersection = run_intersection(channel, ids, settings, IntersectionRun(own, progress))
    finally:
        stopwatch.seconds[INTERSECTION] += sum(own.seconds.values())
    assert intersection.rows is not None
    if not intersection.rows.size:
        raise InputError(
            "no row is common to all parties",
            expected="ids that all parties have",
            got="none",
            cure="check that all parties write ids alike: the same columns in the same order, the same spelling",
        )
    return intersection.rows
