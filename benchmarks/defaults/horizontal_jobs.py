"""One horizontal job that says nothing it need not say, and scikit-learn at its defaults on the same rows pooled."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from defaults.data_sets import DataSet
from hekat.launch.horizontal.run import run_job
from hekat.run.horizontal.load_inputs import load_inputs

_NAMES = "abcdefgh"
# scikit-learn's own default, and how many of its networks are compared with: their scores depend on the seed.
HIDDEN = 100
NETWORK_SEEDS = 3


def measure_default_job(
    data: DataSet, place: Path, *, is_network: bool = False, protection: str = "lattice"
) -> dict[str, Any]:
    """Scores on the test rows of the job and of scikit-learn: accuracy or R², and what else there is.

    `is_network`: of a network with one hidden layer in place of a linear model; scikit-learn's figures are means then.
    """
    parties, test = data.split()
    _write_job(data, place, len(parties), is_network=is_network, protection=protection)
    for name, rows in zip([*_NAMES[: len(parties)], "test"], [*parties, test], strict=True):
        _write_csv(data, place / f"{name}.csv", rows)
    start = time.perf_counter()
    summary = run_job(load_inputs(place / "job.toml"), place / "runs").summary
    seconds = time.perf_counter() - start
    found = summary["results"][-1]["metrics"]
    trained_on = np.concatenate(parties)
    measure = measure_networks if is_network else measure_scikit_learn
    reference = measure(data, trained_on, test)
    score = "accuracy" if data.classes else "r2"
    return {
        "data": data.name,
        "rows": len(data.y),
        "columns": data.X.shape[1],
        "parties": len(parties),
        "protection": protection,
        "score": score,
        "hekat": found[score],
        "scikit_learn": reference[score],
        "difference": found[score] - reference[score],
        "rounds": len(next(iter(summary["rounds"].values()))),
        "course": summary["convergence"]["course"],
        "seconds": seconds,
        "metrics": found,
        "scikit_learn_metrics": reference,
    }


def _write_job(data: DataSet, place: Path, party_count: int, *, is_network: bool, protection: str) -> None:
    model = f'[model]\nname = "mlp"\nhidden = [{HIDDEN}]' if is_network else '[model]\nname = "linear"'
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
        "" if data.classes and not is_network else model,
        "" if protection == "lattice" else f'[protection]\nkind = "{protection}"',
    ]
    (place / "job.toml").write_text("\n".join(lines), encoding="utf-8")
    tables = {f"party.{name}.data.rows": name for name in _NAMES[:party_count]} | {"common_data.test": "test"}
    site = ["format = 1", f'[policy]\nprotections = ["{protection}"]']
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
    return _metrics_of(estimator, data, train, test)


def measure_networks(data: DataSet, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """The same of scikit-learn's networks at their defaults, which end after 200 passes: means over their seeds."""
    kind = MLPClassifier if data.classes else MLPRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [_metrics_of(kind(random_state=seed), data, train, test) for seed in range(NETWORK_SEEDS)]
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def _metrics_of(estimator: Any, data: DataSet, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
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
