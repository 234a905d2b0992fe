"""LoRA in a job: a model of the sites' own code that comes with its adapters, which alone are trained and sent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.documents.markdown import TEXTS, blocks

from hekat.cli.main import main
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.run.horizontal.trained_model import load_trained_model

JOB = """format = 2
name = "sentences"
protocol = "horizontal"
parties = ["a", "b", "c"]
aggregator = "hub"
data = "sentences"
test_data = "later"
classes = ["no", "yes"]
weight_max = 100
[model]
name = "sentences"
[training]
algorithm = "fedavg"
rounds = 4
local_epochs = 3
batch_rows = 10
learning_rate = 1.0
standardise = false
[compare]
plain = false
alone = false
"""
WORDS, LENGTH = 20, 6


def write(folder: Path) -> Path:
    """The how-to's model, and sentences that are of class `yes` if their first word is in the upper half."""
    site = 'format = 1\n[common_models.sentences]\nfunction = "net:build"\n'
    rng = np.random.default_rng(8)
    for name in ("a", "b", "c", "later"):
        words = rng.integers(0, WORDS, (100, LENGTH))
        np.savez(folder / f"{name}.npz", features=words.astype(np.float64), labels=(words[:, 0] >= WORDS // 2) * 1)
        where = "common_data.later" if name == "later" else f"party.{name}.data.sentences"
        site += f'[{where}]\nsource = "npz"\npath = "{name}.npz"\n'
    (code,) = (one for one in blocks(TEXTS["docs/how_to/fewer_bytes.md"], "python") if "def build" in one)
    (folder / "net.py").write_text(code)
    (folder / "site.toml").write_text(site)
    (folder / "job.toml").write_text(JOB)
    return folder / "job.toml"


@pytest.mark.long
def test_a_job_trains_and_sends_the_adapters_of_the_how_to_alone(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    pytest.importorskip("peft", reason="needs hekat[lora]")
    pytest.importorskip("transformers", reason="needs hekat[lora]")
    job = write(tmp_path)
    assert main(["run", str(job), "--runs", str(tmp_path / "runs"), "--json"]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    summary = json.loads((run / "summary.json").read_text())
    # Rank 4 at queries and values of one layer of width 32, and a head of two classes.
    assert summary["bytes"]["update_values"] == 2 * 2 * 4 * 32 + 2 * 32 + 2
    assert summary["rounds"]["encrypted"][-1]["metrics"]["accuracy"] > 0.7
    first = load_inputs(job).make_model("a").model.init(0)
    found = load_trained_model(run).parameters
    moved = {name for name, values in first.items() if not np.array_equal(found[name], values)}
    assert moved == {name for name in first if "lora_" in name or "modules_to_save" in name}
