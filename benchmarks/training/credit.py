"""UCI credit default, three banks by rows: encrypted and plain training, each bank alone, all rows pooled."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hekat.data import Table
from hekat.launch.horizontal.run import run_job
from hekat.model import evaluate
from hekat.protocol.horizontal.settings import ModelSettings
from hekat.protocol.horizontal.training.local_run import LocalRun, build_model
from hekat.protocol.horizontal.training.loop import train
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.horizontal.load_inputs import HorizontalInputs, load_inputs

BANKS = {"guest": "homo_guest", "host-1": "homo_host_1", "host-2": "homo_host_2"}
MODELS = {"logistic": ModelSettings("logistic", l2=1e-4), "mlp": ModelSettings("mlp", hidden=(32, 16), l2=1e-4, seed=1)}
ROUNDS = 40

_JOB = """format = 1
name = "credit"
protocol = "horizontal"
parties = ["guest", "host-1", "host-2"]
aggregator = "hub"
data = "credit"
test_data = "credit-test"
classes = ["0", "1"]
weight_max = 10000

[model]
name = "{model}"
{hidden}l2 = 1e-4
seed = 1

[training]
algorithm = "fedavg"
rounds = {rounds}
local_epochs = 1
batch_rows = 128
learning_rate = 0.1

[protection]
kind = "{protection}"

[compare]
alone = {compare}
plain = true
"""


def measure_credit(folder: Path, rounds: int = ROUNDS) -> Iterator[dict[str, Any]]:
    """One row for each model and way of training it: test metrics, and seconds where parties trained together."""
    for name, spec in MODELS.items():
        for protection in ("lattice", "paillier"):
            with tempfile.TemporaryDirectory() as place:
                inputs = _prepare(Path(place), folder / "credit", spec, protection, rounds)
                rows = {party: len(table) for party, table in inputs.tables.items()}
                rows["test"] = 0 if inputs.test_table is None else len(inputs.test_table)
                if protection == "lattice":
                    yield _row(name, "centralised", rounds, _train_pooled(inputs), None) | {"rows": rows}
                summary = run_job(inputs, Path(place) / "runs").summary
            for result in summary["results"]:
                together = result["kind"] == "encrypted"
                if protection == "lattice" or together:
                    label = protection if together else result["name"].removesuffix(" federated")
                    seconds = summary["seconds"].get(result["kind"])
                    yield _row(name, label, rounds, result["metrics"], seconds) | {"rows": rows}


def _row(model: str, way: str, rounds: int, metrics: dict[str, float], seconds: float | None) -> dict[str, Any]:
    return {"model": model, "way": way, "rounds": rounds, "metrics": metrics, "seconds": seconds}


def _prepare(place: Path, data: Path, spec: ModelSettings, protection: str, rounds: int) -> HorizontalInputs:
    hidden = f"hidden = {list(spec.hidden)}\n" if spec.hidden else ""
    compare = "true" if protection == "lattice" else "false"
    text = _JOB.format(model=spec.name, hidden=hidden, rounds=rounds, protection=protection, compare=compare)
    (place / "job.toml").write_text(text, encoding="utf-8")
    site = ['format = 1\n[policy]\nprotections = ["lattice", "paillier", "none"]\n']
    tables = {f"party.{bank}.data.credit": file for bank, file in BANKS.items()}
    for table, file in {**tables, "common_data.credit-test": "homo_test"}.items():
        path = (data / f"default_credit_{file}.csv").resolve()
        site.append(f'[{table}]\nsource = "csv"\npath = "{path}"\nlabel = "y"\nignore = ["id"]\n')
    (place / "site.toml").write_text("\n".join(site), encoding="utf-8")
    return load_inputs(place / "job.toml")


def _train_pooled(inputs: HorizontalInputs) -> dict[str, float]:
    """What one table of all banks' rows gives, with the same model, epochs and batches."""
    settings, tables = inputs.job.settings, list(inputs.tables.values())
    labels = np.concatenate([table.labels for table in tables if table.labels is not None])
    pooled = Table(np.vstack([table.features for table in tables]), labels, tables[0].feature_names, "all rows")
    settings = replace(settings, weight_max=len(pooled))
    local = LocalRun(Stopwatch(), lambda record, state: None, lambda state: None)
    state = train(Alone(), pooled, settings, local, party=settings.leader)
    test = inputs.test_table
    assert test is not None  # the job names one
    assert test.labels is not None
    model = build_model(settings, pooled.features.shape[1])
    return evaluate(model, state.parameters, state.standardiser.apply(test.features), test.labels)
