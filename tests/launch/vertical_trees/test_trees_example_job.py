"""The example's job of trees passes every check; its trees are as good as scikit-learn's on all columns together."""

from __future__ import annotations

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from tests.launch.vertical_linear.test_example_jobs import CREDIT, joined, run_job, summary_of

FIRMS = ("bank", "insurer", "telephone")


@pytest.mark.long
def test_the_example_is_as_good_as_all_columns_in_one_place(tmp_path) -> None:
    summary = summary_of(run_job(CREDIT / "job_trees.toml", tmp_path / "runs"))
    (rows, outcomes), (new_rows, new_outcomes) = joined(FIRMS, "train"), joined(FIRMS, "test")
    peer = HistGradientBoostingClassifier(
        max_iter=10, max_depth=3, learning_rate=0.3, max_bins=32, early_stopping=False, random_state=1
    )
    scores = peer.fit(rows, outcomes).decision_function(new_rows)
    assert summary["results"][0]["metrics"]["auc"] > roc_auc_score(new_outcomes, scores) - 0.01
    assert {one["owner"] for one in summary["importance"]} == set(FIRMS)
