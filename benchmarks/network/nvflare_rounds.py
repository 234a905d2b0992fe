"""Rounds over NVIDIA FLARE, three sites as processes: MNIST's dense network encrypted beside plain, and 5 M values.

The plain side is the engine's own recipe. The encrypted side is the same app after `protect(recipe)` where this Hekat
has it, and a Hekat job with the same rows, first weights and steps. What the models that came out label rightly is
compared first.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import hekat.nvflare
from network.mlp_work import (
    MNIST,
    SITES,
    MlpWork,
    check_same_work,
    draw_rows,
    read_mnist,
    read_mnist_test,
    rows_path,
    write_rows,
)
from network.own_network import ONE_THREAD, has_own_network, run_in_own_network
from network.round_watch import round_medians

PROGRAM = Path(__file__).with_name("nvflare_program.py")
# 784 x 6289 and 6289 x 10 with their biases: 4,999,765 values.
FIVE_MILLION = MlpWork(hidden=6289, batch_rows=0, learning_rate=0.01)
FLOAT32_BYTES = 4
TIMEOUT_S = 600.0

_JOB = """format = 2
name = "rounds"
protocol = "horizontal"
parties = {parties}
aggregator = "aggregator"
data = "rows"
classes = {classes}
weight_max = {weight_max}
timeout_s = 300

[model]
name = "mlp"
hidden = [{hidden}]
seed = 1

[training]
rounds = {rounds}
batch_rows = {batch_rows}
learning_rate = {learning_rate}
standardise = false

[protection]
kind = "{protection}"
"""


def encrypted_ways() -> list[str]:
    """How this Hekat can encrypt the app: as a job of its own, and the app itself where `protect` is there."""
    return [*(["protected"] if "protect" in hekat.nvflare.__all__ else []), "job"]


def measure_mnist(data: Path, rounds: int, turns: int) -> list[dict[str, Any]]:
    """Plain and encrypted runs in turns: a row for each way, ratios to the plain run of the same turn."""
    ways = ["plain", *encrypted_ways()]
    rows_of, test = read_mnist(data), read_mnist_test(data)
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for turn in range(turns):
        for way in ways:
            found[way].append(play(way, MNIST, rows_of, rounds))
            print(f"turn {turn + 1}, {way}: {found[way][-1]['round_s']:.3f} s a round", flush=True)
        shares = check_same_work(MNIST, [found[way][-1]["model"] for way in ways], [test])
        for way, share in zip(ways, shares, strict=True):
            found[way][-1]["right_share"] = share
    rows = []
    for way in ways:
        row = _medians(found[way])
        row |= {"way": way, "values": MNIST.value_count, "turns": turns}
        if way != "plain":
            row |= _beside_plain(found[way], found["plain"])
        rows.append(row)
    return rows


def measure_five_million(rounds: int) -> list[dict[str, Any]]:
    """Rounds of 5 M values by every encrypted way; a Hekat job in one process beside it."""
    rows = []
    for way in encrypted_ways():
        told = play(way, FIVE_MILLION, draw_rows(10), rounds)
        rows.append({"way": way, "values": FIVE_MILLION.value_count, **_figures(told)})
    rows.append({"way": "one process", "values": FIVE_MILLION.value_count, **_in_one_process(rounds)})
    return rows


def play(way: str, work: MlpWork, rows: dict[str, Any], rounds: int) -> dict[str, Any]:
    """One run in a network of its own: medians of its rounds, what left a site, and the last model."""
    with tempfile.TemporaryDirectory(prefix="hekat-") as folder:
        place = Path(folder)
        _prepare(place, work, rows, rounds, "lattice")
        run_in_own_network([sys.executable, str(PROGRAM), str(place), way], place, TIMEOUT_S, ONE_THREAD)
        told = json.loads((place / "told.json").read_text())
        if any(outcome != "finished" for outcome in told.get("outcomes", {}).values()):
            sys.exit(f"roles ended otherwise: {told['outcomes']}")
        kept = {**told, **round_medians(told["ends"]), "model": _last_model(place, way, work)}
        if way == "job":
            run = place / "runs" / SITES[0] / told["run_id"]
            kept |= ledger_bytes_a_round(run / "ledger" / f"{SITES[0]}.jsonl", rounds)
        return kept


def ledger_bytes_a_round(ledger: Path, rounds: int) -> dict[str, float]:
    """Payload bytes that one party sent and got in rounds, by its ledger."""
    totals = {"sent": 0, "received": 0}
    for line in ledger.read_text().splitlines():
        entry = json.loads(line)
        if entry.get("direction") in totals and entry["step"].startswith("round-"):
            totals[entry["direction"]] += entry["payload_bytes"]
    return {"up_bytes": totals["sent"] / rounds, "down_bytes": totals["received"] / rounds}


def _prepare(place: Path, work: MlpWork, rows: dict[str, Any], rounds: int, protection: str) -> None:
    write_rows(place, rows)
    np.save(place / "first.npy", work.first_vector())
    settings = {"hidden": work.hidden, "batch_rows": work.batch_rows, "learning_rate": work.learning_rate}
    (place / "asked.json").write_text(json.dumps({"sites": list(SITES), "rounds": rounds, **settings}))
    weight_max = max(len(labels) for _, labels in rows.values())
    classes = json.dumps([str(number) for number in range(10)])
    (place / "job.toml").write_text(
        _JOB.format(
            parties=json.dumps(SITES), classes=classes, weight_max=weight_max, rounds=rounds, protection=protection,
            **settings,
        )
    )  # fmt: skip
    lines = ['format = 1\n[policy]\nprotections = ["lattice", "none"]\n']
    lines += [f'[party.{site}.data.rows]\nsource = "npz"\npath = "{rows_path(place, site)}"\n' for site in SITES]
    (place / "site.toml").write_text("\n".join(lines))


def _last_model(place: Path, way: str, work: MlpWork) -> npt.NDArray[np.float32]:
    if way != "job":
        loaded: npt.NDArray[np.float32] = np.load(place / f"{SITES[0]}.npy")
        return loaded
    found = next((place / "runs" / SITES[0]).glob("*/model.npz"))
    with np.load(found, allow_pickle=False) as arrays:
        tensors = {name: arrays[name] for name in arrays.files}
    return work.join({name: _tensor_of(tensors, name) for name in work.model.parameter_shapes})


def _tensor_of(tensors: dict[str, Any], name: str) -> Any:
    return next(values for key, values in tensors.items() if key.endswith(name))


def _figures(run: dict[str, Any]) -> dict[str, Any]:
    names = ("rounds", "round_s", "processor_s", "passed_bytes", "up_bytes", "down_bytes", "right_share")
    return {name: run[name] for name in names if run.get(name) is not None}


def _medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    names = _figures(runs[0])
    return {name: float(np.median([run[name] for run in runs])) for name in names}


def _beside_plain(runs: list[dict[str, Any]], plain: list[dict[str, Any]]) -> dict[str, Any]:
    pairs = list(zip(runs, plain, strict=True))
    row = {"times_plain": float(np.median([one["round_s"] / other["round_s"] for one, other in pairs]))}
    if all(one["passed_bytes"] for pair in pairs for one in pair):
        row["bytes_of_plain"] = float(np.median([one["passed_bytes"] / other["passed_bytes"] for one, other in pairs]))
    if "up_bytes" in runs[0]:
        float32_bytes = FLOAT32_BYTES * MNIST.value_count
        row |= {"up_of_float32": runs[0]["up_bytes"] / float32_bytes}
        row |= {"down_of_float32": runs[0]["down_bytes"] / float32_bytes}
    return row


def _in_one_process(rounds: int) -> dict[str, Any]:
    """The same Hekat job by `hekat run`, all roles in one process, one after the other."""
    with tempfile.TemporaryDirectory(prefix="hekat-") as folder:
        place = Path(folder)
        _prepare(place, FIVE_MILLION, draw_rows(10), rounds, "lattice")
        program = shutil.which("hekat", path=str(Path(sys.executable).parent))
        watcher = [sys.executable, str(Path(__file__).with_name("watched_run.py")), str(place), str(program)]
        run_in_own_network(watcher, place, TIMEOUT_S)
        return round_medians(json.loads((place / "told.json").read_text())["ends"])


def conditions() -> dict[str, Any]:
    """What holds of all rows."""
    from importlib import metadata

    return {
        "engine": f"nvflare {metadata.version('nvflare')}",
        "sites": len(SITES),
        "threads": "one of a matrix library in each process of the engine",
        "network": "a network namespace of its own" if has_own_network() else "this machine's loopback",
    }
