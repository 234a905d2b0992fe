"""Rounds over Flower, three SuperNodes: MNIST's dense network, encrypted beside plain, in turns.

One app for both: `ClientApp(mods=[protected])` and `Protected(FedAvg(), parties=[...])` where it is asked for, and
Flower's own FedAvg. Both send train and evaluate in each round. What the models that came out label rightly is
compared first.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from network.mlp_work import SITES, MlpWork, check_same_work, write_rows
from network.own_network import run_in_own_network
from network.round_watch import round_medians

PROGRAM = Path(__file__).with_name("flower_program.py")
TIMEOUT_S = 1200.0
WAYS = ("plain", "protected")


def measure_flower(
    work: MlpWork, rows: dict[str, Any], rounds: int, turns: int, ways: list[str]
) -> list[dict[str, Any]]:
    """A row for each way; the ratio is to the plain run of the same turn."""
    if find_spec("flwr") is None:
        raise SystemExit("Flower is not installed: pip install 'hekat[flower]'")
    if "protected" in ways and find_spec("hekat.flower") is None:
        raise SystemExit("this Hekat has no hekat.flower: --flower-ways plain measures the plain side")
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for turn in range(turns):
        for way in ways:
            found[way].append(_play(way, work, rows, rounds))
            print(f"turn {turn + 1}, {way}: {found[way][-1]['round_s']:.2f} s a round", flush=True)
        models = [found[way][-1]["model"] for way in ways]
        for way, share in zip(ways, check_same_work(work, models, rows.values()), strict=True):
            found[way][-1]["right_share"] = share
    made = []
    for way in ways:
        row: dict[str, Any] = {"way": way, "values": work.value_count, "turns": turns}
        for name in ("rounds", "round_s", "processor_s", "passed_bytes", "right_share"):
            if all(run[name] is not None for run in found[way]):
                row[name] = median(run[name] for run in found[way])
        if way == "protected" and "plain" in ways:
            pairs = list(zip(found[way], found["plain"], strict=True))
            row["times_plain"] = median(one["round_s"] / other["round_s"] for one, other in pairs)
        made.append(row)
    return made


def conditions() -> dict[str, Any]:
    """What holds of all rows."""
    return {"engine": f"flwr {metadata.version('flwr')}", "sites": len(SITES)}


def _play(way: str, work: MlpWork, rows: dict[str, Any], rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hekat-") as folder:
        place = Path(folder)
        write_rows(place, rows)
        np.save(place / "first.npy", work.first_vector())
        settings = {"hidden": work.hidden, "batch_rows": work.batch_rows, "learning_rate": work.learning_rate}
        asked = {"way": way, "sites": list(SITES), "rounds": rounds, **settings}
        (place / "asked.json").write_text(json.dumps(asked))
        run_in_own_network([sys.executable, str(PROGRAM), str(place)], place, TIMEOUT_S)
        told = json.loads((place / "told.json").read_text())
        return {**round_medians(told["ends"]), "model": np.load(place / f"{SITES[0]}.npy")}
