"""What one role of a training of trees leaves behind besides its files: plain data for summaries."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.protocol.vertical_trees.party_run import TreeRecord
from hekat.summary.trees.drawn_facts import Importance, TreeFacts
from hekat.summary.vertical.role_result import ColumnsResult


@dataclass(frozen=True)
class TimedIteration:
    """An iteration as this party saw it; `seconds` since the last one ended, or training began."""

    record: TreeRecord
    seconds: float


@dataclass(frozen=True)
class TreesResult(ColumnsResult):
    """One role's end, with the iterations that it saw; `importance` and `trees` are the guest's alone."""

    iterations: tuple[TimedIteration, ...] = ()
    importance: tuple[Importance, ...] = ()
    trees: tuple[TreeFacts, ...] = ()
