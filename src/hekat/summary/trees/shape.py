"""The tables of summary.json that all trainings of boosted trees have."""

from __future__ import annotations

from typing import TypedDict


class IterationFacts(TypedDict):
    """One iteration: the mean losses of training rows and of rows held out for early stopping after it, None where they
    are not known here; `seconds` since the last one ended, or training began; None of a run that was resumed."""

    iteration: int
    loss: float | None
    validation_loss: float | None
    seconds: float | None


class ImportanceFacts(TypedDict):
    """What one column did for all trees: the sum of its splits' gains, and their number. `column` is its name, or
    "column 3" where its owner alone knows the name."""

    owner: str
    column: str
    gain: float
    splits: int


class DrawnNode(TypedDict):
    """A node of a drawn tree, by its place in the list, the root first. A leaf has `value`, what it adds to a score; an
    inner node `owner`, `column`, and its children `left` and `right`. `test` says which rows go left, None where the
    owner alone knows. `rows` of training reached the node."""

    owner: str | None
    column: str | None
    test: str | None
    left: int | None
    right: int | None
    value: float | None
    rows: int


class DrawnTree(TypedDict):
    """A tree of an iteration; `target` is the class that it is for, None where there is one tree."""

    iteration: int
    target: str | None
    nodes: list[DrawnNode]
