"""What the steps of a training on columns cost by role, as a rehearsal found: epochs, or iterations of trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hekat.data.number_text import count_of
from hekat.protocol.role_session import RoleSession


@dataclass(frozen=True)
class Cost:
    """Of one role: sealed bytes that it sends, and seconds that it works."""

    sent_bytes: float = 0.0
    seconds: float = 0.0

    def plus(self, other: Cost, times: float = 1.0) -> Cost:
        return Cost(self.sent_bytes + times * other.sent_bytes, self.seconds + times * other.seconds)

    def beyond(self, other: Cost) -> Cost:
        """What this one adds to a smaller one."""
        return Cost(self.sent_bytes - other.sent_bytes, max(0.0, self.seconds - other.seconds))


def leaf_of_fewer_rows(least: int, row_count: int, total: int, parties: int = 1) -> int:
    """What a leaf keeps of `row_count` rehearsed rows where it keeps `least` of all `total`: trees have as many leaves.

    The rows that each of `parties` holds out are rounded.
    """
    return least if row_count == total else max(1, least * row_count // total - parties)


@dataclass(frozen=True)
class RoleEstimate:
    """`first`: opening the session and the first step; `later`: each step after it."""

    role: str
    first: Cost
    later: Cost

    def total(self, steps: int) -> Cost:
        return self.first.plus(self.later, steps - 1)


@dataclass(frozen=True)
class ColumnsCost:
    """Costs if all `row_count` rows of the smallest table are common and no rule ends training early. Roles take turns
    on one machine: their seconds add up. `word` is what a step is called, `steps` how many there are at most."""

    row_count: int
    steps: int
    roles: tuple[RoleEstimate, ...]
    word: str

    @property
    def total(self) -> Cost:
        found = Cost()
        for role in self.roles:
            found = found.plus(role.total(self.steps))
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain tables and numbers."""
        return {
            "rows": self.row_count,
            f"{self.word}s": self.steps,
            "roles": [{**asdict(role), "total": asdict(role.total(self.steps))} for role in self.roles],
            "total": asdict(self.total),
        }

    def say_steps(self) -> str:
        """How many steps there are, for a reader."""
        return f"{count_of(self.steps, self.word)} at most"

    def say_apart(self) -> str:
        """What a run does besides, for a reader."""
        return "matching rows and predicting, such as for rows held out"


def costs_of_two_steps(session: RoleSession, worked: Mapping[int, float], second_step: str) -> tuple[Cost, Cost]:
    """A role's cost up to the end of the first step, and of the second, whose names begin with `second_step`; `worked`
    are the seconds at the end of each step."""
    second = sum(one.sent_bytes for (_, step), one in session.traffic.items() if step.startswith(second_step))
    first_s = worked.get(1, 0.0)
    return (
        Cost(session.sent_bytes - second, first_s),
        Cost(second, max(0.0, worked.get(2, first_s) - first_s)),
    )
