"""The day of three parties with other rows of the same columns: texts, gaps, record numbers; from files to a model."""

from __future__ import annotations

import csv
import json
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from tests.first_day.pooled import labels, pooled_auc
from tests.first_day.visits import HEADER, PARTIES, write_day

pytestmark = pytest.mark.long


def test_three_commands_without_an_edit_reach_what_all_rows_in_one_place_reach(day) -> None:
    tables = write_day(day.folder)
    day.hekat("init", "trial", "--from", *(f"{party}.csv" for party in PARTIES), "--label", "subscribed")
    shown = day.hekat("run", "trial/job.toml")
    run = day.last_run()
    day.hekat("predict", str(run), "--data", "new.csv", "--label", "subscribed", "--out", "predictions.csv")
    assert len(day.commands) == 3
    assert day.edits == 0

    truth = labels(tables["new"])
    scores = probabilities_of(day, "yes")
    assert abs(roc_auc_score(truth, scores) - pooled_auc(tables)) < 0.01
    # Probabilities that one can use: not much worse than knowing the truth's own.
    assert log_loss(truth, scores) < 0.45

    assert "Converged after" in shown
    held_out = held_out_auc(json.loads((run / "summary.json").read_text()))
    assert abs(held_out - roc_auc_score(truth, scores)) < 0.03


def test_no_column_that_a_model_needs_was_left_out(day) -> None:
    write_day(day.folder)
    said = day.hekat("init", "trial", "--from", *(f"{party}.csv" for party in PARTIES), "--label", "subscribed")
    job = (day.folder / "trial" / "job.toml").read_text()
    for column in ("occupation", "school", "month", "outcome"):
        assert f"[columns.{column}]" in job
    for column in HEADER[1:-1]:
        assert f"{column} is left out" not in said
    assert "call_id" in said  # what is left out is said


def probabilities_of(day: Any, label: str) -> np.ndarray:
    """The column of predictions.csv with the probabilities of `label`."""
    with (day.folder / "predictions.csv").open(encoding="utf-8", newline="") as file:
        return np.array([float(row[f"probability_{label}"]) for row in csv.DictReader(file)])


def held_out_auc(summary: dict[str, Any]) -> float:
    """The AUC on the rows that parties held out, of the encrypted model."""
    (result,) = summary["results"]
    return float(result["validation"]["auc"])
