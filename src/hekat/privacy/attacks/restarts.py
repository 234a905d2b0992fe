"""Starts an attack several times and keeps the guess with the lowest objective, never the one that looks best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hekat.errors import InputError
from hekat.privacy.attacks.optimiser import Found


@dataclass(frozen=True)
class Restarts:
    """`count` starts; it ends early below `enough`, an objective that no other start would better by much."""

    count: int = 2
    enough: float = 1e-7

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InputError(
                "an attack without a start", expected="at least 1", got=str(self.count), cure="raise the number"
            )

    def search(self, attempt: Callable[[int], Found]) -> tuple[Found, tuple[float, ...]]:
        """The best of `attempt(0)`, `attempt(1)`, and so on, and the objective of each.

        An attacker has nothing to compare its guesses with but the objective: the best score among restarts would be
        a figure that nobody could reach.
        """
        best: Any = None
        values = []
        for number in range(self.count):
            found = attempt(number)
            values.append(found.value)
            if best is None or found.value < best.value:
                best = found
            if best.value < self.enough:
                break
        return best, tuple(values)
