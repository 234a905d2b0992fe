"""Runs that release 0.1.0 wrote: this release resumes them to the same model, reports and audits them.

tests/job/releases/0.1.0 holds what `hekat run` of that release left: three runs stopped in their third round, each with
the model that 0.1.0 itself went on to from there, and one that finished.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.state import load_model
from hekat.state.array_file import decode_arrays

RELEASE = Path(__file__).parents[1] / "job" / "releases" / "0.1.0"
STOPPED = ("stopped_lattice", "stopped_paillier", "stopped_none")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The files of the release where they may be written beside, the key readable to its owner alone."""
    folder = tmp_path / "old"
    shutil.copytree(RELEASE, folder)
    (folder / "leader.key").chmod(0o600)
    return folder


@pytest.mark.parametrize("name", STOPPED)
def test_a_run_that_stopped_is_resumed_to_the_same_model(name, old, tmp_path, capsys) -> None:
    code = main(["run", f"{old / name}.toml", "--runs", str(tmp_path / "runs"), "--resume", str(old / name), "--json"])
    summary = json.loads(capsys.readouterr().out)
    assert code == 0
    federated = summary["rounds"]["plain" if name == "stopped_none" else "encrypted"]
    assert [entry["round"] for entry in federated] == [3]
    (run,) = (tmp_path / "runs").iterdir()
    expected, expected_metadata = load_model(old / name / "model_of_0.1.0.npz")
    found, metadata = load_model(run / "model.npz")
    assert found.keys() == expected.keys()
    for tensor, values in expected.items():
        np.testing.assert_allclose(found[tensor], values, rtol=1e-9, atol=1e-12)
    assert metadata["columns"] == expected_metadata["columns"]
    assert metadata["classes"] == expected_metadata["classes"]


@pytest.mark.parametrize("name", [*STOPPED, "finished_lattice"])
def test_its_job_and_site_files_say_what_they_said(name, old) -> None:
    inputs = load_inputs(old / f"{name}.toml", old / "site.toml")
    settings = inputs.job.settings
    assert (settings.parties, settings.aggregator) == (("north", "east", "south"), "hub")
    assert (settings.weight_max, settings.classes, settings.allow_two_parties) == (100, ("no", "yes"), False)
    assert (settings.model.l2, settings.model.seed, settings.training.seed) == (0.001, 3, 7)
    assert (settings.training.patience, settings.training.min_improvement) == (5, 1e-4)
    assert inputs.job.timeout_s == 600
    assert inputs.site.policy.protections == ("lattice", "paillier", "none")
    assert inputs.site.policy.openings == ("committee", "shared")
    assert [len(table) for table in inputs.tables.values()] == [20, 20, 20]
    assert inputs.tables["north"].feature_names == ("age", "dose", "days")
    told = {
        "stopped_lattice": ("lattice", "logistic", "fedavg", "adam"),
        "stopped_paillier": ("paillier", "mlp", "fedsgd", "rmsprop"),
        "stopped_none": ("none", "logistic", "fedavg", "momentum"),
        "finished_lattice": ("lattice", "logistic", "fedavg", "adam"),
    }
    training = settings.training
    assert (settings.protection, settings.model.name, training.algorithm, training.optimiser) == told[name]
    said = {
        "stopped_none": {"momentum": 0.5},
        "stopped_paillier": {},
        # What format 1 means by adam under fedavg: the job's rate, and the optimiser's own numbers.
        "stopped_lattice": {"learning_rate": 0.05, "beta_2": 0.999, "epsilon": 1e-8},
    }
    assert dict(training.optimiser_settings) == said.get(name, said["stopped_lattice"])


def test_a_resumed_run_says_who_began_it(old, tmp_path, monkeypatch) -> None:
    """Begun by 0.1.0, resumed and ended by 7.0.0: events, notes and the checkpoint say so."""

    for module in (
        "state.file_format",
        "state.checkpoint",
        "run.run_events",
        "summary.horizontal.caveats",
        "run.horizontal.training_state_file",
    ):
        monkeypatch.setattr(f"hekat.{module}.this_release", lambda: "7.0.0")
    job, folder = str(old / "stopped_lattice.toml"), str(old / "stopped_lattice")
    assert main(["run", job, "--runs", str(tmp_path / "runs"), "--resume", folder, "--json"]) == 0
    (first,) = (tmp_path / "runs").iterdir()
    events = [json.loads(line) for line in (first / "events.jsonl").read_text().splitlines()]
    (resumed,) = [event for event in events if event["event"] == "resumed"]
    assert (resumed["begun_by"], resumed["releases"], resumed["rounds_done"]) == ("0.1.0", ["0.1.0"], 2)
    assert events[0]["hekat"] == "7.0.0"
    notes = json.loads((first / "summary.json").read_text())["notes"]
    assert "begun by hekat 0.1.0, and ended by hekat 7.0.0" in notes
    metadata, _ = decode_arrays((first / "checkpoint.npz").read_bytes(), "checkpoint", "checkpoint")
    assert metadata["releases"] == ["0.1.0", "7.0.0"]


def test_a_finished_run_is_reported(old, capsys) -> None:
    assert main(["report", str(old / "finished_lattice")]) == 0
    assert "What came out" in capsys.readouterr().out
    assert "clinics" in (old / "finished_lattice" / "report.html").read_text()


def test_ledgers_of_a_finished_run_are_audited(old, capsys) -> None:
    assert main(["audit", str(old / "finished_lattice")]) == 0
    told = capsys.readouterr().out
    assert "hub" in told
    ledgers = old / "finished_lattice" / "ledger"
    assert main(["audit", str(ledgers / "north.jsonl"), str(ledgers / "hub.jsonl")]) == 0
