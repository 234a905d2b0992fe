"""A million rows of twenty numbers at five parties, logistic, by `hekat init --from` and `hekat run` as they are."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from first_day.commands import call_hekat, the_run

SEED = 1
PARTIES = 5
TO_REACH_S = 15
ALLOWED = 0.01
_BLOCK_ROWS = 10_000


def measure_million_rows(folder: Path, rows: int = 1_000_000, columns: int = 20) -> dict[str, Any]:
    """Seconds of the two commands, and the score on rows that the parties held out beside scikit-learn's on as many."""
    features, labels = make_rows(rows, columns)
    names = [f"p{number}" for number in range(PARTIES)]
    for name, part in zip(names, np.array_split(np.arange(rows), PARTIES), strict=True):
        write_csv(folder / f"{name}.csv", features[part], labels[part])
    init = call_hekat(folder, "init", "job", "--from", *(f"{name}.csv" for name in names), "--label", "ill")
    run = call_hekat(folder, "run", "job/job.toml")
    summary = json.loads((the_run(folder) / "summary.json").read_text(encoding="utf-8"))
    (result,) = summary["results"]
    reference, reference_s = _scikit_learn(features, labels, held_out=result["validation"]["rows"])
    accuracy = result["validation"]["accuracy"]
    return {
        "work": "million",
        "parties": PARTIES,
        "rows": rows,
        "columns": columns,
        "init_s": init.seconds,
        "seconds": run.seconds,
        "processor_s": run.processor_s,
        "peak_mib": run.peak_mib,
        "training_s": summary["seconds"]["encrypted"],
        "rounds": summary["convergence"]["steps"],
        "course": summary["convergence"]["course"],
        "held_out_rows": result["validation"]["rows"],
        "accuracy": accuracy,
        "scikit_learn_accuracy": reference,
        "scikit_learn_fit_s": reference_s,
        "to_reach_s": TO_REACH_S,
        "reached": run.seconds <= TO_REACH_S and accuracy >= reference - ALLOWED,
    }


def make_rows(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers of four decimals, and "yes" or "no" by odds that are linear in them."""
    rng = np.random.default_rng(SEED)
    features = rng.normal(size=(rows, columns)).round(4)
    odds = features @ rng.normal(size=columns)
    return features, np.where(rng.random(rows) < 1 / (1 + np.exp(-odds)), "yes", "no")


def write_csv(path: Path, features: np.ndarray, labels: np.ndarray, label: str = "ill") -> None:
    """A header x0, x1, ... and the label's name, then the rows."""
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join([*(f"x{number}" for number in range(features.shape[1])), label]) + "\n")
        for start in range(0, len(features), _BLOCK_ROWS):
            block = features[start : start + _BLOCK_ROWS].tolist()
            said = labels[start : start + _BLOCK_ROWS].tolist()
            file.writelines(f"{','.join(map(repr, row))},{text}\n" for row, text in zip(block, said, strict=True))


def _scikit_learn(features: np.ndarray, labels: np.ndarray, held_out: int) -> tuple[float, float]:
    """Accuracy on the last `held_out` rows of a model of all others, and seconds of its fit, without reading."""
    model = make_pipeline(StandardScaler(), LogisticRegression())
    start = time.perf_counter()
    model.fit(features[:-held_out], labels[:-held_out])
    seconds = time.perf_counter() - start
    return float(model.score(features[-held_out:], labels[-held_out:])), seconds
