"""The day of a bank and an insurer with other columns of partly the same people, and of a third with columns too."""

from __future__ import annotations

import json

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.first_day.customers import made_customers, write_tables

pytestmark = pytest.mark.long


def test_two_commands_without_an_edit_reach_what_joined_tables_reach(day) -> None:
    people = made_customers(6000)
    common = write_tables(day.folder, people, only_bank=500, only_insurer=800)
    day.hekat("init", "trial", "--protocol", "vertical_linear", "--from", "bank.csv", "insurer.csv", "--label", "late")
    shown = day.hekat("run", "trial/job.toml")
    assert (len(day.commands), day.edits) == (2, 0)
    assert "Converged after" in shown

    # Rows that the parties hold out, against rows that scikit-learn holds out of the same people in five parts.
    joined = make_pipeline(StandardScaler(), LogisticRegression())
    scores = cross_val_predict(joined, people.features[common], people.late[common], cv=5, method="predict_proba")[:, 1]
    truth = people.late[common]
    (results,) = (result["metrics"] for result in json.loads((day.last_run() / "summary.json").read_text())["results"])
    # One part held out has an AUC that differs from the mean of all by about its own spread.
    assert abs(results["auc"] - roc_auc_score(truth, scores)) < 0.035
    assert abs(results["log_loss"] - log_loss(truth, scores)) < 0.04
