"""One horizontal job that says nothing it need not say, and scikit-learn at its defaults on the same rows pooled."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from defaults.data_sets import DataSet
from hekat.launch.horizontal.run import run_job
from hekat.run.horizontal.load_inputs import load_inputs

_NAMES = "abcdefgh"


def measure_default_job(data: DataSet, place: Path) -> dict[str, Any]:
    """Scores on the test rows of the encrypted job and of scikit-learn: accuracy or R², and what else there is."""
    parties, test = data.split()
    _write_job(data, place, len(parties))
    for name, rows in zip([*_NAMES[: len(parties)], "test"], [*parties, test], strict=True):
        _write_csv(data, place / f"{name}.csv", rows)
    start = time.perf_counter()
    summary = run_job(load_inputs(place / "job.toml"), place / "runs").summary
    seconds = time.perf_counter() - start
    found = next(row["metrics"] for row in summary["results"] if row["kind"] == "encrypted")
    reference = measure_scikit_learn(data, np.concatenate(parties), test)
    score = "accuracy" if data.classes else "r2"
    return {
        "data": data.name,
        "rows": len(data.y),
        "columns": data.X.shape[1],
        "parties": len(parties),
        "score": score,
        "hekat": found[score],
        "scikit_learn": reference[score],
        "difference": found[score] - reference[score],
        "rounds": len(next(iter(summary["rounds"].values()))),
        "seconds": seconds,
        "metrics": found,
        "scikit_learn_metrics": reference,
    }


def _write_job(data: DataSet, place: Path, party_count: int) -> None:
    lines = [
        "format = 2",
        'name = "defaults"',
        'protocol = "horizontal"',
        f"parties = {list(_NAMES[:party_count])}",
        'aggregator = "hub"',
        'data = "rows"',
        'test_data = "test"',
        f"classes = {data.classes}" if data.classes else "",
        "weight_max = 100000",
        "" if data.classes else '[model]\nname = "linear"',
    ]
    (place / "job.toml").write_text("\n".join(lines), encoding="utf-8")
    tables = {f"party.{name}.data.rows": name for name in _NAMES[:party_count]} | {"common_data.test": "test"}
    site = ["format = 1"]
    for table, name in tables.items():
        site.append(f'[{table}]\nsource = "csv"\npath = "{place / name}.csv"\nlabel = "label"')
    (place / "site.toml").write_text("\n".join(site), encoding="utf-8")


def _write_csv(data: DataSet, path: Path, rows: np.ndarray) -> None:
    columns = [*(f"x{number}" for number in range(data.X.shape[1])), "label"]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(columns) + "\n")
        for values, label in zip(data.X[rows].tolist(), data.y[rows].tolist(), strict=True):
            file.write(",".join(map(repr, [*values, label])) + "\n")


def measure_scikit_learn(data: DataSet, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """scikit-learn's metrics on the rows `test`, trained at its defaults on the standardised rows `train`."""
    estimator = LogisticRegression(max_iter=10_000) if data.classes else LinearRegression()
    model = make_pipeline(StandardScaler(), estimator).fit(data.X[train], data.y[train])
    X, y = data.X[test], data.y[test]
    if data.classes is None:
        return {"r2": float(model.score(X, y)), "rmse": float(root_mean_squared_error(y, model.predict(X)))}
    answers = model.predict_proba(X)
    scores = answers[:, 1] if len(data.classes) == 2 else answers
    return {
        "accuracy": float(model.score(X, y)),
        "log_loss": float(log_loss(y, answers)),
        "auc": float(roc_auc_score(y, scores, multi_class="ovr")),
    }
