"""The example with a PyTorch model: no row is used twice, and its job trains encrypted as in the clear."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hekat.cli.main import main
from hekat.run.horizontal.load_inputs import load_inputs

pytest.importorskip("torch", reason="needs hekat[torch]")
pytest.importorskip("safetensors", reason="needs hekat[torch]")

EXAMPLE = Path(__file__).parents[3] / "examples" / "torch_model"


def test_every_digit_is_in_one_table(tmp_path: Path) -> None:
    inputs = load_inputs(EXAMPLE / "job.toml")
    tables = [*inputs.tables.values(), inputs.test_table]
    assert [len(table) for table in tables] == [800, 400, 200, 397]
    model = inputs.make_model("beta").model
    assert model.parameter_shapes["1.weight"] == (8, 1, 3, 3)
    assert model.averaged == {"2.running_mean", "2.running_var"}


@pytest.mark.long
def test_it_trains_and_predicts_as_the_document_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three of its rounds."""
    folder = tmp_path / "torch_model"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    job = (folder / "job.toml").read_text()
    assert job.count("rounds = 8") == job.count("alone = true") == 1
    (folder / "job.toml").write_text(job.replace("rounds = 8", "rounds = 3").replace("alone = true", "alone = false"))
    assert main(["run", str(folder / "job.toml"), "--runs", str(tmp_path / "runs"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    plain, encrypted = (summary["rounds"][kind][-1] for kind in ("plain", "encrypted"))
    assert encrypted["loss"] == pytest.approx(plain["loss"], rel=0.01)
    assert encrypted["metrics"]["accuracy"] > 0.85
    (run,) = (tmp_path / "runs").iterdir()
    site = ["--site", str(folder / "site.toml"), "--source", "digits-test"]
    assert main(["predict", str(run), *site, "--out", str(tmp_path / "answers.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"] == pytest.approx(encrypted["metrics"])
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 398
