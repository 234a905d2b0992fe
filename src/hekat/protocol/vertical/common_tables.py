"""The rows that all parties have, where one process holds every table: what a set intersection will find."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import InputError
from hekat.protocol.psi.ids import make_ids
from hekat.protocol.psi.intersection_result import in_stable_order


def find_common_tables(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The rows of each party that all have, in the order in which a set intersection gives them.

    Raises InputError where no row is common.
    """
    ids = {party: make_ids(table.ids.columns, party) for party, table in tables.items() if table.ids is not None}
    if len(ids) < len(tables):
        return dict(tables)
    held = {party: _digests(own.digests) for party, own in ids.items()}
    common = set.intersection(*(set(digests) for digests in held.values()))
    if not common:
        raise InputError(
            "no row is common to all parties",
            expected="ids that all parties have",
            got="none",
            cure="check that all parties write ids alike: the same columns in the same order, the same spelling",
        )
    found = {}
    for party, table in tables.items():
        rows = np.array([row for row, digest in enumerate(held[party]) if digest in common], dtype=np.int64)
        found[party] = table.take(in_stable_order(rows, ids[party]))
    return found


def _digests(rows: npt.NDArray[np.uint8]) -> list[bytes]:
    return [row.tobytes() for row in rows]
