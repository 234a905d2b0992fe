"""`EveryEngine`: engines that do the same calls in step, and fail together where one answers unlike the first of them.

A case computes what it expects once and holds the common answer against it: that is every engine's answer, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hekat.engine.interface import Engine
from hekat.errors import HekatError

COMPARED = (np.ndarray, bool, int, float, str, tuple, type(None))


class InStep:
    """What every engine made of one call in its own form: residues or tables. Attributes are those that all share."""

    def __init__(self, engine: EveryEngine, made: Mapping[str, Any]) -> None:
        self.engine = engine
        self.made = made

    def __getattr__(self, name: str) -> Any:
        return common(name, {member: getattr(own, name) for member, own in self.made.items()})

    def __len__(self) -> int:
        return int(common("len", {member: len(own) for member, own in self.made.items()}))

    def __repr__(self) -> str:
        return "; ".join(map(repr, self.made.values()))


class EveryEngine:
    """`hekat.engine.interface.Engine` for those `members`, by name; residues of it are residues of each.

    The first member is what the others are held against, and gives the results. Each gets an accumulator of its own.
    """

    def __init__(self, members: Mapping[str, Engine]) -> None:
        self.members = members
        self.name = next(iter(members.values())).name

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        if not hasattr(Engine, operation):
            raise AttributeError(operation)

        def call(*args: Any, **kwargs: Any) -> Any:
            answers = {name: self._call(name, operation, args, kwargs) for name in self.members}
            return self._answer(operation, answers)

        return call

    def add_masked(self, form: Any, accumulator: Any, written: Any, value_count: int) -> None:
        """As the engines' own, which changes `accumulator`: to what every engine makes of it."""
        usable = isinstance(accumulator, np.ndarray) and accumulator.flags.writeable and accumulator.flags.carray
        own = {name: accumulator.copy() if usable else accumulator for name in self.members}
        args = {name: (form, own[name], written, value_count) for name in self.members}
        answers = {name: self._call(name, "add_masked", args[name], {}) for name in self.members}
        try:
            self._answer("add_masked", answers)
        finally:
            if usable:
                accumulator[...] = common("add_masked", own)

    def _call(self, name: str, operation: str, args: Any, kwargs: Any) -> Any:
        """What one member answers: its result, or its refusal."""
        try:
            return getattr(self.members[name], operation)(*self._own(name, args), **kwargs)
        except HekatError as refusal:
            return refusal
        except Exception as error:
            error.add_note(f"engine {name}: {operation}")
            raise

    def _own(self, name: str, value: Any) -> Any:
        """The arguments with what this member made of the calls before."""
        if isinstance(value, InStep):
            return value.made[name] if value.engine is self else value
        if isinstance(value, list | tuple):
            return type(value)(self._own(name, one) for one in value)
        return value

    def _answer(self, operation: str, answers: Mapping[str, Any]) -> Any:
        refused = {name: self._words(name, answer) for name, answer in answers.items()}
        common(operation, refused)
        first = next(iter(answers.values()))
        if isinstance(first, HekatError):
            raise first
        return common(operation, answers, in_step=self)

    def _words(self, name: str, answer: Any) -> str | None:
        """The class and words of a refusal, as the reference would say them; None of a result."""
        if not isinstance(answer, HekatError):
            return None
        return f"{type(answer).__name__}: {answer}".replace(self.members[name].name, "reference")


def common(what: str, found: Mapping[str, Any], in_step: EveryEngine | None = None) -> Any:
    """The answer that all engines give; AssertionError with the names of those that differ from the first.

    Residues and tables, which cannot be compared, are joined: `in_step` is the engine that they belong to.
    """
    first_name, first = next(iter(found.items()))
    if isinstance(first, tuple) and any(isinstance(one, np.ndarray) for one in first):
        parts = [{name: answer[i] for name, answer in found.items()} for i in range(len(first))]
        return tuple(common(what, part, in_step) for part in parts)
    if in_step is not None and not isinstance(first, COMPARED):
        return InStep(in_step, found)
    different = [name for name, answer in found.items() if not is_same(answer, first)]
    if different:
        shown = "; ".join(f"{name} {found[name]!r}" for name in (first_name, *different))
        raise AssertionError(f"{what}: {', '.join(different)} unlike {first_name}: {shown}")
    return first


def is_same(a: Any, b: Any) -> bool:
    """Equal to the bit, arrays in shape and type too."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and bool(np.array_equal(a, b))
    return type(a) is type(b) and bool(a == b)
