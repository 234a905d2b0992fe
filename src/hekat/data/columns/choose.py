"""Which columns of a file are features, which one is the label and which are ids."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hekat.errors import InputError
from hekat.first_few import first_few

_MOST_SHOWN = 8


@dataclass(frozen=True)
class ChosenColumns:
    """Columns of a file by name; features are all that are neither label, ids nor ignored, in the file's order. `dates`
    are columns whose dates become days."""

    features: tuple[str, ...]
    label: str | None
    ids: tuple[str, ...]
    dates: tuple[str, ...] = ()


def check_names_differ(path: Path | str, names: Sequence[str], *, place: str, empty: str, cure: str) -> None:
    """Raise InputError at the first name that is empty or there before; `place` follows its column's number."""
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        if not name or name in seen:
            raise InputError(
                f"{path}: column {number}{place} {'repeats a name' if name else 'has no name'}",
                expected="a name of its own for each column",
                got=repr(name) if name else empty,
                cure=cure,
            )
        seen.add(name)


def choose_columns(
    path: Path | str,
    names: Sequence[str],
    *,
    label: str | None,
    id: str | Sequence[str] | None,
    ignore: Sequence[str],
    only: Sequence[str] | None = None,
) -> ChosenColumns:
    """The choice that the site file's options make among `names`. Raises InputError with the name that was meant.

    `only` (the option `columns`) are the columns that may be features, None for all. In it and in `ignore` a name may
    be a pattern, where `*` stands for any characters; a pattern passes over the label and ids.
    """
    ids = id_column_names(id)
    taken: dict[str, str] = {}
    there = set(names)
    apart = {label, *ids}
    left_out = [one for one in fitting_names(path, "ignore", ignore, names) if one not in apart or one in ignore]
    for role, name in [("label", label), *(("id", name) for name in ids), *(("ignore", name) for name in left_out)]:
        if name is None:
            continue
        if name not in there:
            raise _no_such_column(path, role, name, names)
        before = taken.setdefault(name, role)
        if before != role:
            raise InputError(
                f"{path}: column {name!r} is both {before} and {role}",
                expected="one part for each column",
                got=f"{before} and {role}",
                cure="remove it from one of them in the site file",
            )
    wanted = there if only is None else set(fitting_names(path, "columns", only, names))
    features = tuple(name for name in names if name not in taken and name in wanted)
    return ChosenColumns(features, label, ids)


def fitting_names(path: Path | str, option: str, patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The `names` that the names and patterns of an option mean, each once.

    Raises InputError for a pattern that no name fits, and for a name that is not there; one under ignore is kept.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        if "*" not in pattern or pattern in names:
            if option != "ignore" and pattern not in names:
                raise _no_such_column(path, option, pattern, names)
            found[pattern] = None
            continue
        fits = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
        fitting = [name for name in names if fits.fullmatch(name)]
        if not fitting:
            raise _no_such_column(path, option, pattern, names)
        found |= dict.fromkeys(fitting)
    return list(found)


def choose_id_columns(path: Path | str, names: Sequence[str], id: str | Sequence[str]) -> ChosenColumns:
    """The columns of ids alone among `names`; the others may hold anything. Raises InputError."""
    ids = id_column_names(id)
    for name in ids:
        if name not in names:
            raise _no_such_column(path, "id", name, names)
    return ChosenColumns((), None, ids)


def id_column_names(id: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns that an option `id` of a source names.

    Args:
        id: One name, several, or None.

    Returns:
        The names, none where the option is absent.

    Raises:
        InputError: `id` is anything else.

    Examples:
        >>> from hekat.data import id_column_names
        >>> id_column_names("patient")
        ('patient',)
    """
    if id is None:
        return ()
    names = (id,) if isinstance(id, str) else tuple(id)
    if not names or len(set(names)) != len(names):
        raise InputError(
            "id refused",
            expected="the name of a column, or a list of different names",
            got="one of them twice" if names else "an empty list",
            cure="correct id in the site file",
        )
    return names


def _no_such_column(path: Path | str, role: str, name: str, names: Sequence[str]) -> InputError:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return InputError(
        f"{path} has no column {name!r}",
        expected=f"one of {first_few(names, _MOST_SHOWN)}",
        got=f"{role} = {name!r}",
        cure=f"did you mean {close[0]!r}?" if close else f"correct {role} in the site file",
    )
