"""The arguments of `federate`, each of its type before anything starts; their ranges are checked by the settings."""

from __future__ import annotations

import inspect
import operator
import os
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Any, NoReturn

from hekat.errors import InputError
from hekat.own_loop.private.loop_budgets import LoopBudgets

_PIECEMEAL = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def check_code(play: Callable[..., Any], name: str = "play") -> None:
    """Raise InputError unless `play` is a plain function: it can be called, and has run when the call returns."""
    if not callable(play):
        _refuse(name, "a function of one argument, the party", play, "pass the function itself, not its result")
    if any(is_piecemeal(play) for is_piecemeal in _PIECEMEAL):
        _refuse_kind(
            name,
            "a plain function that returns the party's result",
            "an async function or a generator",
            "make it a plain one: nothing of it would run",
        )


def as_names(parties: Iterable[str]) -> tuple[str, ...]:
    """The parties' names in their order. Raises InputError for one text, for a set, and for other things than names."""
    names = () if isinstance(parties, (str, bytes, Set)) or not isinstance(parties, Iterable) else tuple(parties)
    if not names or not all(isinstance(name, str) for name in names):
        _refuse(
            "parties", "a list of names", parties, "pass ['north', 'lake', 'county']: order matters, and each is a text"
        )
    return names


def as_text(name: str, value: str) -> str:
    """The text. Raises InputError for anything else."""
    if not isinstance(value, str):
        _refuse(name, "a text", value, f"change {name}")
    return value


def as_whole_number(name: str, value: int) -> int:
    """Python's int of it. Raises InputError for floats, texts and truth values."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        _refuse(name, "a whole number", value, f"pass an int as {name}")


def as_number(name: str, value: float) -> float:
    """Python's float of it. Raises InputError for texts, truth values and all else that is no single number."""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        _refuse(name, "a number", value, f"pass a float as {name}")


def as_truth(name: str, value: bool) -> bool:
    """Raises InputError for anything but True and False: a text that says no is true to Python."""
    if not isinstance(value, bool):
        _refuse(name, "True or False", value, f"change {name}")
    return value


def as_budgets(value: LoopBudgets) -> LoopBudgets:
    """Raises InputError for anything but what `hekat.site_budgets` gives."""
    if not isinstance(value, LoopBudgets):
        _refuse("budgets", "the budgets of a site file", value, 'pass hekat.site_budgets("site.toml")')
    return value


def as_folder(value: str | os.PathLike[str] | None, name: str = "folder") -> Path | None:
    """The path. Raises InputError for anything else."""
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)) or not value:
        _refuse(name, "a path, or None for nothing", value, f"change {name}")
    return Path(value)


def _refuse(name: str, expected: str, value: Any, cure: str) -> NoReturn:
    _refuse_kind(name, expected, f"{type(value).__name__} {value!r}"[:60], cure)


def _refuse_kind(name: str, expected: str, got: str, cure: str) -> NoReturn:
    raise InputError(f"argument {name} of hekat.federate refused", expected=expected, got=got, cure=cure)
