"""A network that predicts numbers learns standardised labels, and answers in the unit of the labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.launch.nvflare.fake_engine import runs_of
from tests.launch.nvflare.test_resume import resume, run_until
from tests.launch.roles_apart import RolesApart

from hekat.errors import StateError
from hekat.job.data_source import DataSource
from hekat.job.horizontal.job_file import load_job
from hekat.launch.horizontal.run import run_job
from hekat.launch.one_role import RoleFiles, load_role
from hekat.model import Mlp
from hekat.protocol.horizontal.training.clipping import WideBounds
from hekat.report import brief_of, load_summary
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.run.horizontal.predict import predict, rebuild_model
from hekat.run.horizontal.trained_model import load_trained_model
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, load_state

PARTIES = ("north", "east", "south")
JOB = """format = 2
name = "costs"
protocol = "horizontal"
parties = ["north", "east", "south"]
aggregator = "hub"
data = "visits"
test_data = "later"
weight_max = 100

[model]
name = "mlp"
hidden = [4]

[training]
rounds = 8
"""
MEAN, SPREAD = 40_000.0, 900.0


def write_rows(path: Path, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 2))
    costs = MEAN + SPREAD * np.tanh(rows[:, 0] - rows[:, 1])
    lines = [f"{a!r},{b!r},{cost!r}" for (a, b), cost in zip(rows.tolist(), costs.tolist(), strict=True)]
    path.write_text("\n".join(["age,dose,cost", *lines]) + "\n")


def costs_in(place: Path, more: str = "") -> RolesApart:
    place.mkdir(exist_ok=True)
    sites = {}
    for seed, party in enumerate(PARTIES):
        write_rows(place / f"{party}.csv", 60, seed)
        sites[party] = f'\n[party.{party}.data.visits]\nsource = "csv"\npath = "{place / party}.csv"\nlabel = "cost"\n'
    write_rows(place / "later.csv", 40, 9)
    common = f'[common_data.later]\nsource = "csv"\npath = "{place}/later.csv"\nlabel = "cost"\n'
    return RolesApart(place, JOB + more, (*PARTIES, "hub"), sites, 'protections = ["lattice"]', more_sites=common)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    apart = costs_in(tmp_path_factory.mktemp("costs"), "[validation]\nhold_out = 0.2\n")
    return run_job(load_inputs(apart.together / "job.toml"), apart.place / "runs").folder


def test_metrics_losses_and_predictions_are_in_the_unit_of_the_labels(whole: Path) -> None:
    summary = load_summary(whole)
    (result,) = summary["results"]
    assert result["metrics"]["r2"] > 0.6
    assert result["validation"]["r2"] > 0.6
    assert result["metrics"]["rmse"] < 0.5 * SPREAD
    losses = [record["loss"] for record in next(iter(summary["rounds"].values()))]
    assert losses[0] > 0.1 * SPREAD**2 > losses[-1] > 0.001 * SPREAD**2
    trained = load_trained_model(whole)
    source = DataSource("csv", {"path": str(whole.parents[1] / "later.csv"), "label": "cost"})
    found = predict(trained, rebuild_model(trained, None, None), source, whole)
    assert found.metrics == pytest.approx(result["metrics"])
    assert np.abs(found.answers - MEAN).max() < 3 * SPREAD


def test_the_checkpoint_holds_mean_and_spread_of_all_labels(whole: Path) -> None:
    job = load_job(whole.parents[1] / "together" / "job.toml")
    state = load_state(whole / CHECKPOINT_FILE, job, 2, Mlp(2, None, hidden=(4,)))
    label = state.standardiser.label
    assert label is not None
    assert label.mean == pytest.approx(MEAN, abs=0.1 * SPREAD)
    assert label.spread == pytest.approx(SPREAD * 0.7, rel=0.15)
    assert max(float(np.abs(values).max()) for values in state.parameters.values()) < 10


@pytest.mark.long
def test_a_resumed_run_ends_with_the_same_model(tmp_path: Path) -> None:
    apart = costs_in(tmp_path / "stopped")
    order = run_until(apart, rb"round-3/upload-\d+/released")
    again, ended = resume(apart, order)
    assert ended == dict.fromkeys(apart.roles)
    other = run_job(load_inputs(apart.together / "job.toml"), tmp_path / "runs").folder
    found, expected = (load_trained_model(folder) for folder in (runs_of(apart, "north") / again.run_id, other))
    for name, values in expected.parameters.items():
        np.testing.assert_array_equal(found.parameters[name], values)


@pytest.mark.long
def test_a_search_whose_slopes_are_clipped_in_every_round_has_not_converged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = WideBounds.bounds_for
    monkeypatch.setattr(WideBounds, "bounds_for", lambda self, *asked: dict.fromkeys(wide(self, *asked), 2**-20))
    monkeypatch.setattr(WideBounds, "learn", lambda self, sums, sizes, party_count: None)
    apart = costs_in(tmp_path / "clipped", "patience = 3\n")
    summary = load_summary(run_job(load_inputs(apart.together / "job.toml"), tmp_path / "runs").folder)
    assert summary["convergence"]["course"] == "clipped"
    assert summary["convergence"]["steps"] == 8, "a flat loss does not end training"
    assert any("clipping held training back" in warning for warning in brief_of(summary).warnings)


@pytest.mark.long
def test_a_role_apart_does_not_resume_on_rows_in_another_order(tmp_path: Path) -> None:
    apart = costs_in(tmp_path / "stopped")
    order = run_until(apart, rb"round-3/upload-\d+/released")
    folder = apart.folder_of("east")
    resumed = runs_of(apart, "east") / order.run_id
    files = RoleFiles(folder / "job.toml", folder / "site.toml", resumed.parent, lambda: b"", resume=resumed)
    assert load_role(files, "east").role == "east"
    path = tmp_path / "stopped" / "east.csv"
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *rows[::-1]]) + "\n")
    with pytest.raises(StateError, match="the rows of east are not those that the run began with") as caught:
        load_role(files, "east")
    assert caught.value.got == "a table that differs, or its rows in another order"
