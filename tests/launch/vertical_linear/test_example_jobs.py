"""The job files of the examples: all pass every check, and what they train is as good as all columns in one place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from hekat.cli.main import main
from hekat.data import load_python

EXAMPLES = Path(__file__).parents[3] / "examples"
CREDIT = EXAMPLES / "vertical_credit"
JOBS = ["vertical_credit/job_shared.toml", "vertical_credit/job_arbiter.toml"]


def run_job(job: Path, runs: Path) -> Path:
    """The folder of the job's run."""
    assert main(["run", str(job), "--runs", str(runs)]) == 0
    (folder,) = runs.iterdir()
    return folder


def summary_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def joined(firms: tuple[str, ...], part: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns and outcomes of the people that all `firms` have, in one place."""
    tables = {firm: load_python("people:load", CREDIT, {"firm": firm, "part": part}, name=firm) for firm in firms}
    places = {firm: {row: place for place, row in enumerate(table.ids.to_rows())} for firm, table in tables.items()}
    common = sorted(set.intersection(*(set(found) for found in places.values())))
    columns = np.hstack([tables[firm].features[[places[firm][row] for row in common]] for firm in firms])
    return columns, tables["bank"].labels[[places["bank"][row] for row in common]]


def auc_in_one_place(firms: tuple[str, ...]) -> float:
    (X, y), (X_test, y_test) = joined(firms, "train"), joined(firms, "test")
    model = LogisticRegression().fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    return roc_auc_score(
        y_test == model.classes_[1], model.decision_function((X_test - X.mean(axis=0)) / X.std(axis=0))
    )


@pytest.mark.long
@pytest.mark.parametrize("job", JOBS)
def test_the_jobs_pass_every_check(job, tmp_path, capsys) -> None:
    assert main(["run", str(EXAMPLES / job), "--runs", str(tmp_path), "--dry-run"]) == 0
    assert "every check passed" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("job", JOBS)
def test_the_jobs_pass_every_check_in_earnest_too(job, tmp_path) -> None:
    text = (EXAMPLES / job).read_text(encoding="utf-8").replace("key_bits = 2048", "key_bits = 3072")
    (tmp_path / "job.toml").write_text(text, encoding="utf-8")
    site = str(CREDIT / "site.toml")
    assert main(["run", str(tmp_path / "job.toml"), "--site", site, "--runs", str(tmp_path), "--dry-run"]) == 0


def test_the_baker_and_the_florist_find_their_common_customers(tmp_path) -> None:
    folder = run_job(EXAMPLES / "intersection" / "job.toml", tmp_path)
    tables = [
        load_python("customers:load", EXAMPLES / "intersection", {"firm": firm}, name=firm)
        for firm in ("baker", "florist")
    ]
    common = set.intersection(*(set(table.ids.to_rows()) for table in tables))
    found = "".join(path.read_text(encoding="utf-8") for path in sorted((folder / "intersection").iterdir()))
    assert set(re.findall(r"member-\d{5}", found)) == {text for row in common for text in row}
    assert len(common) == 371


@pytest.mark.long
@pytest.mark.parametrize(
    ("job", "firms"),
    [("job_shared", ("bank", "insurer")), ("job_arbiter", ("bank", "insurer", "telephone"))],
)
def test_the_credit_jobs_are_as_good_as_all_columns_in_one_place(job, firms, tmp_path) -> None:
    summary = summary_of(run_job(CREDIT / f"{job}.toml", tmp_path))
    (encrypted,) = [result["metrics"] for result in summary["results"] if result["kind"] == "encrypted"]
    assert abs(encrypted["auc"] - auc_in_one_place(firms)) <= 0.005
    assert summary["intersection"]["common"] == len(joined(firms, "train")[1])
    losses = [epoch["loss"] for epoch in summary["epochs"]]
    assert losses[-1] < losses[0]
