"""The shape of summary.json of a training of a split network."""

from __future__ import annotations

from typing import Literal, TypedDict

from hekat.summary.convergence import Convergence
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import RunFacts
from hekat.summary.vertical.summary_shape import Bytes, IntersectionFacts, PartyFacts, Seconds


class Result(TypedDict):
    """Metrics on the test data: "accuracy", "log_loss", "auc"; for a regression "rmse", "r2"; empty without test data.

    `kind`: "encrypted" or "plain" is the run itself; "centralised" the same network on the joined rows, in floats.
    """

    name: str
    kind: Literal["encrypted", "plain", "centralised"]
    metrics: dict[str, float]


class Compared(TypedDict):
    """How far the run's raw scores of the test rows are from the scores of the network on the joined rows, which begins
    with other weights; `loss` the last epoch's of both."""

    rows: int
    largest_score_difference: float
    loss: float | None
    centralised_loss: float | None


class EpochFacts(TypedDict):
    """One epoch: the mean losses of training rows and of rows held out for stopping, None where not known here;
    of form sealed the Taylor loss.

    `clipped_share` by party: of the numbers that it gave to products, the share that was cut to their range; parties
    whose share is not known here are left out. `seconds` since the last epoch ended, or training began; None of an
    epoch of the run that was resumed.
    """

    epoch: int
    loss: float | None
    validation_loss: float | None
    clipped_share: dict[str, float]
    seconds: float | None


class LearnedFacts(TypedDict):
    """Of a host's `features` (its inputs of the interactive layer) the guest learned at most so many `directions`."""

    host: str
    features: int
    directions: int


class NetworkSummary(RunFacts):
    """All of summary.json. `seconds_by_role` by the finer steps of `timing_labels`, `seconds_by_part` by what these
    add up to and "idle". `bottoms` names each party's map of its columns, where it is known here,
    `bottom_code` has the SHA-256 (hex) of the code that made one of a site's own. `top` and `top_code` are the same of
    the guest's top, null and "" where not known here. `started_from` is the id of the run whose network training went
    on with. `seen` is what every role's signed ledger says that it learned.
    """

    protocol: Literal["vertical_network"]
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
    bottoms: dict[str, str]
    bottom_code: dict[str, str]
    top: str | None
    top_code: str
    shared_rate: float | None
    epochs: list[EpochFacts]
    stopped_early: bool
    convergence: Convergence | None
    learned: list[LearnedFacts]
    seconds: Seconds
    seconds_by_role: dict[str, dict[str, float]]
    seconds_by_part: dict[str, dict[str, float]]
    bytes: Bytes
    seen: list[PartyView]
    notes: list[str]
