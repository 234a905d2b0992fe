"""Which columns of a file are features, which one is the label and which the id."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hekat.errors import InputError


@dataclass(frozen=True)
class ChosenColumns:
    """Columns of a file by name; features are all that are neither label, id nor ignored, in the file's order."""

    features: tuple[str, ...]
    label: str | None
    id: str | None


def check_names_differ(path: Path, names: Sequence[str], *, place: str, empty: str, cure: str) -> None:
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
    path: Path, names: Sequence[str], *, label: str | None, id: str | None, ignore: Sequence[str]
) -> ChosenColumns:
    """The choice that the site file's options make among `names`. Raises InputError with the name that was meant."""
    wanted = [("label", label), ("id", id), *(("ignore", name) for name in ignore)]
    taken: dict[str, str] = {}
    there = set(names)
    for role, name in wanted:
        if name is None:
            continue
        if name not in there:
            raise _no_such_column(path, role, name, names)
        if taken.setdefault(name, role) != role:
            raise InputError(
                f"{path}: column {name!r} is both {taken[name]} and {role}",
                expected="one part for each column",
                got=f"{taken[name]} and {role}",
                cure="remove it from one of them in the site file",
            )
    features = tuple(name for name in names if name not in taken)
    if not features:
        raise InputError(f"{path} has no feature columns", expected="at least one besides label and ignore", got="none")
    return ChosenColumns(features, label, id)


def _no_such_column(path: Path, role: str, name: str, names: Sequence[str]) -> InputError:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return InputError(
        f"{path} has no column {name!r}",
        expected=f"one of {shown}",
        got=f"{role} = {name!r}",
        cure=f"did you mean {close[0]!r}?" if close else f"correct {role} in the site file",
    )
