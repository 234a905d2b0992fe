"""The base of every scheme's parameter sets: a public name, and a check that two sets are not mixed."""

from __future__ import annotations

from typing import Protocol

from hekat.errors import KeyRefusedError


class ParameterSet(Protocol):
    """A set of parameters, equal where all its numbers are."""

    @property
    def name(self) -> str:
        """What jobs and messages call the set."""
        ...


def check_same_parameters(expected: ParameterSet, got: ParameterSet, what: str) -> None:
    """Raise KeyRefusedError naming both sets unless they are one."""
    if expected != got:
        raise KeyRefusedError(
            f"{what} is of another parameter set",
            expected=expected.name,
            got=got.name,
            cure="make it anew under the same set",
        )
