"""The shape of summary.json of a training of boosted trees across columns."""

from __future__ import annotations

from typing import Literal, TypedDict

from hekat.summary.convergence import Convergence
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import RunFacts
from hekat.summary.trees.shape import DrawnTree, ImportanceFacts, IterationFacts
from hekat.summary.vertical.summary_shape import Bytes, IntersectionFacts, PartyFacts, Seconds


class Result(TypedDict):
    """Metrics on the test data: "accuracy", "log_loss", "auc"; for a regression "rmse", "r2"; empty without test data.

    `kind`: "encrypted" or "plain" is the run itself; "centralised" the same booster on the joined rows in the clear;
    "scikit-learn" its own gradient boosting on the joined rows.
    """

    name: str
    kind: Literal["encrypted", "plain", "centralised", "scikit-learn"]
    metrics: dict[str, float]


class Compared(TypedDict):
    """How far the run's raw scores of the test rows are from the scores of the plain booster on the joined rows; `loss`
    the last iteration's of both."""

    rows: int
    largest_score_difference: float
    loss: float | None
    centralised_loss: float | None


class TreesSummary(RunFacts):
    """All of summary.json. `seconds_by_role` by the finer steps of `timing_labels`, `seconds_by_part` by what these
    add up to and "idle". `started_from` is the id of the run whose trees training went on with. `importance` and
    `trees`, the first few of all, are what the guest knows of them; empty where the guest's result is not known here.
    `seen` is what every role's signed ledger says that it learned."""

    protocol: Literal["vertical_trees"]
    settings: dict[str, str | int | float | bool | list[str] | None]
    parties: list[PartyFacts]
    task: Literal["classification", "regression"]
    test_rows: int | None
    test_rows_trained_on: int
    results: list[Result]
    compared: Compared | None
    intersection: IntersectionFacts
    test_intersection: IntersectionFacts | None
    prediction_receivers: list[str]
    started_from: str | None
    iterations: list[IterationFacts]
    stopped_early: bool
    convergence: Convergence | None
    importance: list[ImportanceFacts]
    trees: list[DrawnTree]
    seconds: Seconds
    seconds_by_role: dict[str, dict[str, float]]
    seconds_by_part: dict[str, dict[str, float]]
    bytes: Bytes
    seen: list[PartyView]
    notes: list[str]
