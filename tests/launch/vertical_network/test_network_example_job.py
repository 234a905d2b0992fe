"""The example's job of a split network passes every check, and comes near scikit-learn's on all columns together."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.launch.vertical_linear.test_example_jobs import CREDIT, joined, run_job, summary_of


@pytest.mark.long
def test_the_example_is_nearly_as_good_as_all_columns_in_one_place(tmp_path) -> None:
    summary = summary_of(run_job(CREDIT / "job_network.toml", tmp_path / "runs"))
    firms = ("bank", "insurer", "telephone")
    (rows, outcomes), (new_rows, new_outcomes) = joined(firms, "train"), joined(firms, "test")
    peer = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, outcomes)
    auc = roc_auc_score(new_outcomes, peer.decision_function(new_rows))
    assert summary["results"][0]["metrics"]["auc"] > auc - 0.1
    assert [one["features"] for one in summary["learned"]] == [12, 12]
