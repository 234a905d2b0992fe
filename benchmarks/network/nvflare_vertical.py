"""Set intersection and regression by columns over NVIDIA FLARE, beside the same job in one process, in turns.

UCI's credit data where a folder is given, else made-up rows; 13 columns and labels at the guest, 10 at the host.
Seconds are from a run's start to its end at the guest: what the engine takes to start processes is in neither.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from network.own_network import ONE_THREAD, run_in_own_network
from vertical.columns_job import write_columns_job
from vertical.data import GUEST

PROGRAM = Path(__file__).with_name("nvflare_program.py")
FORMS = ("arbiter", "shared_weights")
TO_REACH = 1.5
TIMEOUT_S = 600.0
LOSS_TOLERANCE = 1e-6


def measure_vertical(
    credit: Path | None, forms: Sequence[str], row_count: int, epochs: int, turns: int
) -> list[dict[str, Any]]:
    """A row for each form: seconds over the engine and in one process, and the median of their ratios."""
    rows = []
    for form in forms:
        pairs = []
        for turn in range(turns):
            pairs.append({way: _play(way, form, credit, row_count, epochs) for way in ("one process", "engine")})
            print(f"{form}, turn {turn + 1}: {pairs[-1]}", flush=True)
            apart = abs(pairs[-1]["engine"]["loss"] - pairs[-1]["one process"]["loss"])
            if not apart <= LOSS_TOLERANCE:
                sys.exit(f"{form}: losses are {apart:.3g} apart: not measured")
        times = statistics.median(pair["engine"]["seconds"] / pair["one process"]["seconds"] for pair in pairs)
        rows.append(
            {
                "form": form,
                "data": "made-up rows" if credit is None else "UCI credit default",
                "rows": row_count if credit is None else 30_000,
                "columns": 23,
                "epochs": epochs,
                "turns": turns,
                "engine_s": statistics.median(pair["engine"]["seconds"] for pair in pairs),
                "one_process_s": statistics.median(pair["one process"]["seconds"] for pair in pairs),
                "times_one_process": times,
                "to_reach": TO_REACH,
                "reached": times <= TO_REACH,
            }
        )
    return rows


def _play(way: str, form: str, credit: Path | None, row_count: int, epochs: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="hekat-") as folder:
        place = Path(folder)
        roles = write_columns_job(place, form, credit, row_count, epochs)
        (place / "asked.json").write_text(json.dumps({"sites": roles}))
        if way == "engine":
            run_in_own_network([sys.executable, str(PROGRAM), str(place), "job"], place, TIMEOUT_S, ONE_THREAD)
            outcomes = json.loads((place / "told.json").read_text())["outcomes"]
            if set(outcomes.values()) != {"finished"}:
                sys.exit(f"roles ended otherwise: {outcomes}")
            return figures_of(next((place / "runs" / GUEST).glob("*/events.jsonl")))
        hekat = str(Path(sys.executable).with_name("hekat"))
        run_in_own_network(
            [sys.executable, hekat, "run", str(place / "job.toml"), "--runs", str(place / "runs")], place, TIMEOUT_S
        )
        return figures_of(next((place / "runs").glob("*/events.jsonl")))


def figures_of(events: Path) -> dict[str, float]:
    """Seconds from the run's start to its end, and the loss of the last epoch."""
    entries = [json.loads(line) for line in events.read_text().splitlines()]
    at = {entry["event"]: datetime.fromisoformat(entry["time"]) for entry in entries}
    losses = [entry["loss"] for entry in entries if entry.get("loss") is not None]
    return {"seconds": (at["finished"] - at["started"]).total_seconds(), "loss": losses[-1]}
