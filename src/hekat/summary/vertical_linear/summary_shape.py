"""The shape of summary.json of a vertical regression; what is the same in every summary has the same name there.

A horizontal run's summary has no key "protocol"; here it is "vertical_linear".
"""

from __future__ import annotations

from typing import Literal, TypedDict

from hekat.summary.convergence import Convergence
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import RunFacts
from hekat.summary.vertical.summary_shape import Bytes, IntersectionFacts, PartyFacts, Seconds


class Result(TypedDict):
    """Metrics on the test data: "accuracy", "log_loss", "auc"; for a regression "rmse", "r2"; empty without test data.

    `kind`: "encrypted" or "plain" is the run itself; "centralised" the same objective on the joined rows in floats;
    "scikit-learn" its own regression on the joined rows.
    """

    name: str
    kind: Literal["encrypted", "plain", "centralised", "scikit-learn"]
    metrics: dict[str, float]


class EpochFacts(TypedDict):
    """`loss`: the guest's, of the weights in progress, averaged over batches. `gradient_error_bound` by party: the
    largest distance of an entry of its gradients from exact arithmetic; parties that do not learn it are left
    out. `seconds` since the last epoch ended, or training began; None of an epoch of the run that was resumed."""

    epoch: int
    loss: float | None
    gradient_error_bound: dict[str, float]
    seconds: float | None


class LearnedFacts(TypedDict):
    """What one party's plain gradients tell of the labels: so many linear equations over so many common rows.

    `equations` is 0 in form `shared_weights`. `waived`: the job accepted in words that the rule is broken.
    """

    party: str
    equations: int
    rows: int
    waived: bool


class EpochExactness(TypedDict):
    """One epoch's steps held against exact arithmetic: the largest error of all, and its bound."""

    step: str
    largest_error: float
    bound: float


class Compared(TypedDict):
    """How far the run's scores on the test rows (else on the common rows) are from centralised training's scores.

    `largest_score_difference` is in units of the score, w x + intercept; `loss` the last epoch's of both.
    """

    rows: int
    largest_score_difference: float
    loss: float | None
    centralised_loss: float | None


class VerticalSummary(RunFacts):
    """All of summary.json. `seconds_by_role` by the finer steps of `timing_labels`, `seconds_by_part` by what these
    add up to ("keys", "encrypt", "products", "decrypt", "plain", "intersection", "others") and "idle": waiting, so that
    the parts of a role add up to `seconds.total`. `test_rows_trained_on` counts the test rows that are
    training rows too, as far as the guest can tell. `prediction_receivers` got the scores of the test rows.
    `started_from` is the id of the run whose weights training began with, None where it began with zeros. `seen` is
    what every role's signed ledger says that it learned (`summary.party_views.views_of_parties`)."""

    protocol: Literal["vertical_linear"]
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
    epochs: list[EpochFacts]
    stopped_early: bool
    convergence: Convergence | None
    seconds: Seconds
    seconds_by_role: dict[str, dict[str, float]]
    seconds_by_part: dict[str, dict[str, float]]
    bytes: Bytes
    learned: list[LearnedFacts]
    seen: list[PartyView]
    exactness: list[EpochExactness]
    notes: list[str]
