"""The common rows of parties' tables: of their ids, in one order, and an error where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import InputError, PartyStoppedError
from hekat.protocol.psi.common_rows import common_rows_of
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch

SETTINGS = IntersectionSettings("guest", ("bank",))


def table_of(name: str, ids) -> Table:
    count = 3
    return Table(np.ones((count, 1)), None, ("x",), name, ids)


def rows_of(intersect, tables: dict[str, Table]) -> dict[str, np.ndarray]:
    def play(channel):
        return common_rows_of(channel, tables[channel.party], SETTINGS, Stopwatch())

    return intersect({}, SETTINGS, stand_ins=dict.fromkeys(tables, play)).results


def test_rows_of_tables(intersect) -> None:
    """A table's whole numbers are the texts of their digits."""
    rows = rows_of(intersect, {"guest": table_of("guest", [7, 8, 9]), "bank": table_of("bank", ["9", "007", "8"])})
    assert sorted(zip(rows["guest"], rows["bank"], strict=True)) == [(1, 2), (2, 0)]


def test_rows_of_tables_with_several_id_columns(intersect) -> None:
    guest = {"name": ["ann", "ann", "bo"], "year": [1, 2, 1]}
    bank = {"who": ["bo", "cy", "ann"], "when": ["1", "1", "2"]}
    rows = rows_of(intersect, {"guest": table_of("guest", guest), "bank": table_of("bank", bank)})
    assert sorted(zip(rows["guest"], rows["bank"], strict=True)) == [(1, 2), (2, 0)]


@pytest.mark.parametrize(("ids", "words"), [(["4", "5", "6"], "no row is common"), (None, "ids")])
def test_tables_that_have_nothing_in_common(intersect, ids, words: str) -> None:
    with pytest.raises(PartyStoppedError) as caught:
        rows_of(intersect, {"guest": table_of("guest", ["1", "2", "3"]), "bank": table_of("bank", ids)})
    assert isinstance(caught.value.__cause__, InputError)
    assert words in str(caught.value.__cause__)
