"""A job of two hundred parties, five rounds of 1,000 values, played by `hekat run` in one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from first_day.commands import call_hekat, the_run
from first_day.million_rows import write_csv

SEED = 7
TO_REACH_S, TO_REACH_BYTES = 40, 15_000_000
ROWS, TEST_ROWS, ROUNDS = 30, 200, 5


def measure_many_parties(folder: Path, parties: int = 200, values: int = 1000) -> dict[str, Any]:
    """Seconds of `hekat run`, the bytes that parties send in its rounds and in all, and those of the folder it leaves.

    The model is logistic with `values` - 1 columns and a bias; nothing is compared beside the encrypted run.
    """
    names = [f"p{number}" for number in range(1, parties + 1)]
    _write_tables(folder, names, values - 1)
    _write_job(folder, names)
    call = call_hekat(folder, "run", "job.toml")
    run = the_run(folder)
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    roles = summary["bytes"]["by_role"]
    in_rounds = [roles[name]["by_step"]["sums"] for name in names]
    (result,) = summary["results"]
    written = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    sent_in_rounds = sum(step["up"] + step["shares_out"] for step in in_rounds)
    return {
        "work": "many",
        "parties": parties,
        "values": summary["bytes"]["update_values"],
        "rounds": ROUNDS,
        "rows_per_party": ROWS,
        "seconds": call.seconds,
        "processor_s": call.processor_s,
        "peak_mib": call.peak_mib,
        "sent_in_rounds_bytes": sent_in_rounds,
        "sent_by_parties_bytes": sum(roles[name]["sent"] for name in names),
        "sent_by_all_bytes": sum(role["sent"] for role in roles.values()),
        "folder_bytes": written,
        "accuracy": result["metrics"]["accuracy"],
        "lost": len(summary["lost"]),
        "to_reach_s": TO_REACH_S,
        "to_reach_bytes": TO_REACH_BYTES,
        "reached": call.seconds <= TO_REACH_S,
        "bytes_reached": sent_in_rounds <= TO_REACH_BYTES,
    }


def _write_tables(folder: Path, names: list[str], columns: int) -> None:
    rng = np.random.default_rng(SEED)
    weights = rng.normal(size=columns)
    for name in [*names, "test-rows"]:
        rows = TEST_ROWS if name == "test-rows" else ROWS
        features = rng.normal(size=(rows, columns)).round(3)
        said = np.where(features @ weights + rng.normal(size=rows) > 0, "yes", "no")
        write_csv(folder / f"{name}.csv", features, said, label="label")


def _write_job(folder: Path, names: list[str]) -> None:
    job = [
        "format = 2",
        'name = "many"',
        'protocol = "horizontal"',
        f"parties = {json.dumps(names)}",
        'aggregator = "hub"',
        'data = "rows"',
        'test_data = "test-rows"',
        'classes = ["no", "yes"]',
        "weight_max = 1000",
        f"[training]\nrounds = {ROUNDS}\nstandardise = false",
        "[compare]\nalone = false",
    ]
    (folder / "job.toml").write_text("\n".join(job) + "\n", encoding="utf-8")
    places = {f"party.{name}.data.rows": name for name in names} | {"common_data.test-rows": "test-rows"}
    site = ["format = 1"]
    site += [f'[{table}]\nsource = "csv"\npath = "{name}.csv"\nlabel = "label"' for table, name in places.items()]
    (folder / "site.toml").write_text("\n".join(site) + "\n", encoding="utf-8")
