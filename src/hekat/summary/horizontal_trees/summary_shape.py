"""The shape of summary.json of boosted trees across rows."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from hekat.summary.convergence import Convergence
from hekat.summary.run_facts import RunFacts
from hekat.summary.trees.shape import DrawnTree, ImportanceFacts, IterationFacts


class PartyRows(TypedDict):
    """A party's rows; `class_rows` by class, None for a regression."""

    name: str
    rows: int
    held_out: int
    class_rows: dict[str, int] | None


class Result(TypedDict):
    """`metrics` on the common test set: "accuracy", "log_loss", "auc"; for a regression "rmse", "r2".

    `validation` is of the held-out rows of all parties, with "rows". Both are empty without such rows.
    """

    name: str
    kind: Literal["encrypted", "plain"]
    metrics: dict[str, float]
    validation: dict[str, float]


class Bytes(TypedDict):
    """Sealed bytes: of each role "sent", "received" and "by_step"; `per_iteration` what all parties known here sent for
    one iteration on average, None where none was made here."""

    by_role: dict[str, dict[str, Any]]
    per_iteration: int | None


class RowTreesSummary(RunFacts):
    """All of summary.json. `importance` and `trees`, the first few of all, are what every party knows of them; empty
    where no party's result is known here. `included` says whose rows the sums of iterations hold, `aggregator_saw` what
    the aggregator's signed ledger says that it was sent."""

    protocol: Literal["horizontal_trees"]
    settings: dict[str, str | int | float | bool | list[str] | None]
    parties: list[PartyRows]
    task: Literal["classification", "regression"]
    test_rows: int | None
    test_rows_trained_on: int
    results: list[Result]
    iterations: list[IterationFacts]
    stopped_early: bool
    convergence: Convergence | None
    importance: list[ImportanceFacts]
    trees: list[DrawnTree]
    seconds: dict[str, float | None]
    seconds_by_step: dict[str, float]
    seconds_by_role: dict[str, dict[str, float]]
    bytes: Bytes
    lost: list[dict[str, Any]]
    included: list[dict[str, Any]]
    aggregator_saw: list[str]
    aggregator_saw_steps: list[str]
    notes: list[str]
