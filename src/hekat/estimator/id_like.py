"""Refuses columns that are ids and no features: a model would learn which row is which, and nothing else from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.data import Table, is_dense
from hekat.errors import InputError

FloatArray = npt.NDArray[np.float64]

# With fewer rows, whole numbers that all differ are no rarity.
MIN_ROWS: Final = 10
_ALMOST_ALL: Final = 0.9
_LOOKED_AT_FIRST: Final = 1000
_ID_NAME: Final = re.compile(r"(?i:(^|.*[_\-. ])(id|ids|uuid|guid)|(id|uuid|guid)[_\-. ].*)|.*[a-z]I[dD]|ID")


def refuse_id_like(tables: Mapping[str, Table]) -> None:
    """Raise InputError where a column is an id, by name and values, or by the same values at two parties.

    An id by its name has whole numbers, and at least nine of ten of them differ. Without such a name, two parties'
    columns of such numbers are ids where nine of ten numbers of one are in the other.
    """
    seen: dict[tuple[str, str], FloatArray] = {}
    for party, table in tables.items():
        if len(table) < MIN_ROWS or not is_dense(table.features):
            continue
        for number, name in enumerate(table.feature_names):
            values = _distinct_whole(table.features[:, number])
            if values is None:
                continue
            if _ID_NAME.fullmatch(name):
                raise _refusal(f"column {name!r} of {party} looks like an id and not like a feature", name, party)
            for (other, column), others in seen.items():
                if other != party and _are_alike(values, others):
                    raise _refusal(
                        f"column {name!r} of {party} and column {column!r} of {other} are ids: the same whole numbers, "
                        "one for each row",
                        name,
                        party,
                    )
            seen[party, name] = values


def _refusal(what: str, name: str, party: str) -> InputError:
    return InputError(
        what,
        expected="columns to train on, and ids apart from them",
        got="whole numbers that differ from row to row",
        cure=f"say id={name!r} where it names the rows (id={{{party!r}: {name!r}, ...}} where parties call it "
        "differently), or leave the column out",
    )


def _distinct_whole(column: FloatArray) -> FloatArray | None:
    """The values, ascending and each once, where they are whole numbers and almost all differ; else None."""
    for values in (column[:_LOOKED_AT_FIRST], column):
        if not np.isfinite(values).all() or (values != np.rint(values)).any():
            return None
        distinct = np.unique(values)
        if len(distinct) < _ALMOST_ALL * len(values):
            return None
    return np.asarray(distinct)


def _are_alike(one: FloatArray, other: FloatArray) -> bool:
    common = np.intersect1d(one, other, assume_unique=True).size
    return bool(common >= _ALMOST_ALL * min(len(one), len(other)))
