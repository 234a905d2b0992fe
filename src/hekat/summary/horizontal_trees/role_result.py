"""What one role of trees across rows leaves behind besides its files: plain data for summaries."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.protocol.horizontal_trees.training import IterationCost
from hekat.summary.horizontal.role_result import RowsResult
from hekat.summary.trees.drawn_facts import Importance, TreeFacts


@dataclass(frozen=True)
class TimedIteration:
    """An iteration as this party saw it; `seconds` since the last one ended, or training began. `party_count` says how
    many parties' rows its sums hold; `cost` what it told of a row, with differential privacy."""

    iteration: int
    seconds: float
    party_count: int
    cost: IterationCost | None = None


@dataclass(frozen=True)
class GrownFacts:
    """What training ended with at a party: the same at every party that was there at the end.

    `losses` and `validation_losses` are mean losses of training rows and of held-out rows before each iteration, and of
    the final model; `validation` are the final model's metrics on held-out rows, `metrics` on the common test set, both
    empty without such rows.
    """

    iterations_done: int
    losses: tuple[float, ...]
    validation_losses: tuple[float, ...]
    validation: dict[str, float]
    metrics: dict[str, float]
    importance: tuple[Importance, ...]
    trees: tuple[TreeFacts, ...]


@dataclass(frozen=True)
class RowTreesResult(RowsResult):
    """One role's end. `iterations` are those that a party saw in this run; `grown` is None at a role without rows and
    at a party that did not reach the end."""

    iterations: tuple[TimedIteration, ...] = ()
    grown: GrownFacts | None = None
