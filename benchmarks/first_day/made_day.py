"""The day of three parties whose tables have texts, gaps and record numbers: from CSV files to predictions."""

from __future__ import annotations

import csv
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from sklearn.metrics import log_loss, roc_auc_score

from first_day.commands import Call, call_hekat, the_run

ROOT = Path(__file__).parents[2]
TO_REACH_S, TO_REACH_COMMANDS, TO_REACH_EDITS = 600, 3, 1
ALLOWED = 0.01


def measure_made_day(folder: Path, rows_per_party: int = 3000, new_rows: int = 4000) -> dict[str, Any]:
    """Commands and their times, the AUC on new rows beside that of scikit-learn with the rows of all parties.

    The tables are made by tests/first_day, whose long tests play the same day.
    """
    visits, pooled = _makers()
    tables = visits.write_day(folder, rows_per_party, new_rows)
    files = [f"{party}.csv" for party in visits.PARTIES]
    calls = {"init": call_hekat(folder, "init", "trial", "--from", *files, "--label", "subscribed")}
    calls["run"] = call_hekat(folder, "run", "trial/job.toml")
    run = the_run(folder)
    calls["predict"] = call_hekat(
        folder, "predict", str(run), "--data", "new.csv", "--label", "subscribed", "--out", "predictions.csv"
    )
    truth = pooled.labels(tables["new"])
    scores = _probabilities(folder / "predictions.csv")
    auc, reference = float(roc_auc_score(truth, scores)), pooled.pooled_auc(tables)
    seconds = sum(call.seconds for call in calls.values())
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    return {
        "work": "day",
        "parties": len(files),
        "rows": rows_per_party * len(files),
        "new_rows": new_rows,
        "commands": len(calls),
        "edits": 0,  # nothing here writes to a file that a command wrote
        "seconds": seconds,
        **_times(calls),
        "course": summary["convergence"]["course"],
        "auc": auc,
        "log_loss": float(log_loss(truth, scores)),
        "scikit_learn_auc": reference,
        "to_reach_s": TO_REACH_S,
        "to_reach_commands": TO_REACH_COMMANDS,
        "to_reach_edits": TO_REACH_EDITS,
        "reached": seconds <= TO_REACH_S and len(calls) <= TO_REACH_COMMANDS and auc >= reference - ALLOWED,
    }


def _makers() -> tuple[Any, Any]:
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    return importlib.import_module("tests.first_day.visits"), importlib.import_module("tests.first_day.pooled")


def _probabilities(path: Path) -> list[float]:
    with path.open(encoding="utf-8", newline="") as file:
        return [float(row["probability_yes"]) for row in csv.DictReader(file)]


def _times(calls: dict[str, Call]) -> dict[str, float]:
    return {f"{name}_s": call.seconds for name, call in calls.items()}
