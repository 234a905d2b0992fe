"""The aggregator's side of the sums, whatever protects them."""

from __future__ import annotations

from typing import Protocol


class Summation(Protocol):
    """Serves one sum after another: `begin`, then `serve` for each step; `finish` once no sum follows.

    A class that names this one among its bases has `bound_slots`, `begin` and `finish` do nothing unless it says more.
    """

    def parties_in(self, step: str) -> tuple[str, ...]:
        """Who uploads in the step, whether or not they dropped out."""
        ...

    def serve(self, step: str) -> None:
        """One sum: receive the parties' updates, add them, give every party the sum."""
        ...

    def bound_slots(self, most_slots: int) -> None:
        """Accept no upload of more slots from now on, where the aggregator reserves memory for what is announced."""
        return None

    def begin(self, step: str) -> None:
        """Settle who is left for the step before anything of it is asked for; `serve` does so by itself."""
        return None

    def finish(self) -> None:
        """Tell whoever waits for further sums that none follows."""
        return None
