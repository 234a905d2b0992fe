"""Columns and trees as a role's result has them: dataclasses of what `hekat.summary.trees.shape` has as tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import cast

from hekat.summary.trees.shape import DrawnTree, ImportanceFacts


@dataclass(frozen=True)
class Importance:
    """What a column did for all trees, as `summary.trees.shape.ImportanceFacts` has it."""

    owner: str
    column: str
    gain: float
    splits: int


@dataclass(frozen=True)
class NodeFacts:
    """A node, as `summary.trees.shape.DrawnNode` has it."""

    owner: str | None
    column: str | None
    test: str | None
    left: int | None
    right: int | None
    value: float | None
    rows: int


@dataclass(frozen=True)
class TreeFacts:
    """A tree, as `summary.trees.shape.DrawnTree` has it."""

    iteration: int
    target: str | None
    nodes: tuple[NodeFacts, ...]


def keep_importances(ranked: Iterable[ImportanceFacts]) -> tuple[Importance, ...]:
    """Ranked columns as a result has them."""
    return tuple(Importance(**one) for one in ranked)


def keep_tree(drawn: DrawnTree) -> TreeFacts:
    """A drawn tree as a result has it."""
    return TreeFacts(drawn["iteration"], drawn["target"], tuple(NodeFacts(**node) for node in drawn["nodes"]))


def importance_tables(kept: Iterable[Importance]) -> list[ImportanceFacts]:
    """The columns as summary.json has them."""
    return [cast(ImportanceFacts, asdict(one)) for one in kept]


def tree_tables(kept: Iterable[TreeFacts]) -> list[DrawnTree]:
    """The trees as summary.json has them."""
    return [cast(DrawnTree, {**asdict(one), "nodes": [asdict(node) for node in one.nodes]}) for one in kept]
