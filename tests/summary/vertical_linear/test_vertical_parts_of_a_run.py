"""Small parts of a vertical run: which rows are the same, which steps are of a kind, what epochs are told of."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from hekat.data import Table
from hekat.model import evaluate_numbers, evaluate_probabilities
from hekat.protocol.vertical_linear.party_run import EpochRecord
from hekat.run.row_identity import RowIdentity
from hekat.summary.vertical.role_result import ResumedPart
from hekat.summary.vertical.traffic import RoleTraffic, kind_of_step
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun
from hekat.summary.vertical_linear.metrics_of_scores import metrics_of_scores
from hekat.summary.vertical_linear.role_result import TimedEpoch, VerticalResult

TABLE = Table(np.arange(8.0).reshape(4, 2), np.array([0.0, 1.0, 1.0, 0.0]), ("a", "b"), ids=("p1", "p2", "p3", "p4"))


def test_the_same_rows_fit() -> None:
    identity = RowIdentity.of(TABLE)
    assert identity.fits(replace(TABLE, name="another", notes=("a note",)))
    assert RowIdentity.of(TABLE).digest != identity.digest
    assert identity.key.hex() not in repr(identity)


OTHERS = {
    "another value": replace(TABLE, features=np.arange(8.0).reshape(4, 2) * (1 + 1e-15)),
    "another label": replace(TABLE, labels=np.array([0.0, 1.0, 1.0, 1.0])),
    "no labels": replace(TABLE, labels=None),
    "another id": replace(TABLE, ids=("p1", "p2", "p3", "p5")),
    "no ids": replace(TABLE, ids=None),
    "ids cut elsewhere": replace(TABLE, ids=("p1p", "2", "p3", "p4")),
    "another order": TABLE.take(np.array([1, 0, 2, 3])),
    "fewer rows": TABLE.take(np.array([0, 1, 2])),
    "another name": replace(TABLE, feature_names=("a", "c")),
    "names cut elsewhere": replace(TABLE, feature_names=("ab", "b")),
    "sparse rows": replace(TABLE, features=sparse.csr_array(TABLE.features)),
    "another shape": Table(TABLE.features.reshape(2, 4), None, ("a", "b", "c", "d")),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_rows_do_not_fit(case) -> None:
    assert not RowIdentity.of(TABLE).fits(OTHERS[case])
    assert RowIdentity.of(OTHERS[case]).fits(OTHERS[case])


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ("epoch-3/batch-12/gradient", "gradient"),
        ("epoch-3/loss-part", "loss-part"),
        ("epoch-0/loss/0", "loss"),
        ("predict/parts", "predict/parts"),
        ("hekat/hello", "session"),
        ("public-key", "public-key"),
        ("epoch-3", "epoch-3"),
    ],
)
def test_steps_are_of_a_kind(step, kind) -> None:
    assert kind_of_step(step) == kind


def test_epochs_are_told_by_the_guest_and_bounded_by_all() -> None:
    def result(role: str, *records: EpochRecord, losses: tuple[float, ...] = ()) -> VerticalResult:
        epochs = tuple(TimedEpoch(record, 0.1) for record in records)
        resumed = ResumedPart(1, losses, ("0.1.0",))
        return VerticalResult(role, 1.0, {}, {}, RoleTraffic(0, 0), epochs=epochs, resumed=resumed)

    bank = result("bank", EpochRecord(2, 0.5, 1e-9), EpochRecord(3, 0.4, None), losses=(0.9,))
    insurer = result("insurer", EpochRecord(2, None, 1e-8), EpochRecord(3, None, 2e-8))
    job = SimpleNamespace(settings=SimpleNamespace(guest="bank", parties=("bank", "insurer")))
    facts = FinishedVerticalRun(job, {"insurer": insurer, "bank": bank}, 1.0).epochs
    assert [(one["epoch"], one["loss"]) for one in facts] == [(1, 0.9), (2, 0.5), (3, 0.4)]
    assert [one["gradient_error_bound"] for one in facts] == [{}, {"insurer": 1e-8, "bank": 1e-9}, {"insurer": 2e-8}]
    assert [one["seconds"] for one in facts] == [None, 0.1, 0.1]


def test_metrics_of_scores_are_those_of_their_answers() -> None:
    scores, labels = np.array([[2.0], [-1.0], [0.5], [-3.0]]), np.array([1, 0, 0, 0])
    found = metrics_of_scores(("no", "yes"), scores, labels)
    chance = 1 / (1 + np.exp(-scores[:, 0]))
    expected = -np.mean(np.where(labels == 1, np.log(chance), np.log(1 - chance)))
    assert found == {"accuracy": 0.75, "log_loss": pytest.approx(expected), "auc": 1.0}
    assert metrics_of_scores(None, scores, scores[:, 0] + 1) == {"rmse": 1.0, "r2": pytest.approx(1 - 1 / 3.421875)}


def test_an_impossible_truth_has_a_finite_loss() -> None:
    metrics = evaluate_probabilities(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1, 1]))
    assert metrics["accuracy"] == 0.5
    assert 100 < metrics["log_loss"] < 1000
    assert "auc" not in metrics
    assert evaluate_numbers(np.array([1.0, 3.0]), np.array([2.0, 2.0])) == {"rmse": 1.0}
