"""The shape of summary.json of a training on an encrypted model."""

from __future__ import annotations

from typing import Literal, TypedDict

from hekat.summary.convergence import Convergence
from hekat.summary.encrypted_model.role_result import Measured
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import RunFacts
from hekat.summary.vertical.summary_shape import Bytes


class RoleFacts(TypedDict):
    """One role of the run and what it does; `rows`, `columns` and `class_rows` are a host's, None at any other role.

    `roles` has "host", "owner", "arbiter", "aggregator": a host may be the owner too.
    """

    name: str
    roles: list[str]
    rows: int | None
    held_out: int
    columns: int | None
    class_rows: dict[str, int] | None


class Result(TypedDict):
    """Metrics of the final model on the owner's rows: "accuracy", "log_loss", "auc"; for a regression "rmse", "r2";
    empty where the owner has no rows, or its result is not known here."""

    name: str
    kind: Literal["encrypted", "plain"]
    metrics: dict[str, float]


class Opened(TypedDict):
    """A model that the owner was given after so many rounds, and its metrics."""

    rounds_done: int
    metrics: dict[str, float]


class RoundFacts(TypedDict):
    """`seconds` since the last round ended, or training began; None of a round of the run that was resumed."""

    round: int
    seconds: float | None


class EncryptedModelSummary(RunFacts):
    """All of summary.json. `training_rows` counts the rows of all hosts; None where that is not known here.
    `measured_on` says which rows of the owner the metrics are of, None where there are none.

    `seconds_by_role` has each role's work by step and "idle". `seen` is what every role's signed ledger says that it
    learned. `convergence` goes by the size of the weights alone: nobody has the loss that training lowers.
    """

    protocol: Literal["encrypted_model"]
    settings: dict[str, str | int | float | bool | list[str] | None]
    parties: list[RoleFacts]
    task: Literal["classification", "regression"]
    test_rows: int | None
    test_rows_trained_on: int
    measured_on: Measured | None
    columns: int | None
    training_rows: int | None
    results: list[Result]
    opened: list[Opened]
    rounds: list[RoundFacts]
    convergence: Convergence | None
    seconds: dict[str, float]
    seconds_by_role: dict[str, dict[str, float]]
    bytes: Bytes
    seen: list[PartyView]
    notes: list[str]
