"""The aggregator's side of the sums, under every protection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Summation(Protocol):
    """Serves one sum after another: `begin`, then `serve` for each step; `finish` once no sum follows.

    In a class with this base `bound_slots`, `begin` and `finish` do nothing unless the class defines them, and parties
    name no sum.
    """

    def parties_in(self, step: str) -> tuple[str, ...]:
        """The parties that upload in the step, dropped out or not."""
        ...

    def serve(self, step: str, then: str = "") -> None:
        """One sum: receive the parties' updates, add them, give every party the sum.

        `then`: the round whose sum is expected next, with values of the codec's bits; "" for none. What can be prepared
        for it is prepared on the way; another sum may come all the same.
        """
        ...

    def serve_one_of(self, steps: Sequence[str]) -> str:
        """Serve the next sum of a group, one of `steps`; which one. "", and nothing is served, where parties say it by
        `say_next` and not by their uploads."""
        return ""

    def bound_slots(self, most_slots: int) -> None:
        """Accept no upload of more slots from now on, where the aggregator reserves memory for what is announced."""
        return None

    def begin(self, step: str) -> None:
        """Settle which parties go on with the step, before any message of it; `serve` does so by itself."""
        return None

    def finish(self) -> None:
        """Tell roles waiting for further sums that none follows."""
        return None
