"""Which columns of a party hold categories, as `categorical_features` of the estimators names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hekat.errors import InputError


def features_by_party(given: object) -> Mapping[str, Any]:
    """What `categorical_features` gives for each party. Raises InputError unless it is None or a mapping."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            "categorical_features does not say whose columns it names",
            expected="a mapping of parties to names or positions of columns",
            got=type(given).__name__,
            cure="say by party: categorical_features={'laboratory': ['town']}",
        )
    return given


def check_their_parties(given: object, parties: Sequence[str]) -> None:
    """Raise InputError where `categorical_features` names a party that does not train."""
    unknown = [name for name in features_by_party(given) if name not in parties]
    if unknown:
        raise InputError(
            "categorical_features names no party",
            expected=f"one of {', '.join(parties)}",
            got=repr(unknown[0]),
            cure="correct categorical_features",
        )


def category_names(party: str, columns: Sequence[str], chosen: Any) -> tuple[str, ...]:
    """Names of the columns that `chosen` gives by names, by positions from 0, or by a mask. Raises InputError."""
    if isinstance(chosen, str) or not np.iterable(chosen):
        chosen = [chosen]
    listed = list(chosen)
    if listed and all(isinstance(one, (bool, np.bool_)) for one in listed):
        if len(listed) != len(columns):
            raise _refusal(party, columns, f"a mask of {len(listed)}")
        return tuple(name for name, is_chosen in zip(columns, listed, strict=True) if is_chosen)
    return tuple(_name(party, columns, one) for one in listed)


def _name(party: str, columns: Sequence[str], one: object) -> str:
    if isinstance(one, (int, np.integer)) and not isinstance(one, bool) and 0 <= one < len(columns):
        return columns[int(one)]
    if isinstance(one, str) and one in columns:
        return str(one)
    raise _refusal(party, columns, repr(one))


def _refusal(party: str, columns: Sequence[str], got: str) -> InputError:
    return InputError(
        f"categorical_features names no column of {party}",
        expected=f"names of its {len(columns)} columns, positions from 0, or a mask of all of them",
        got=got,
        cure="correct categorical_features",
    )
