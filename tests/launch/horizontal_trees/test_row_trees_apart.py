"""Trees across rows with each role in a process of its own: as in one process, also where a run is resumed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.launch.horizontal_trees.conftest import PARTIES, Clinics
from tests.launch.roles_apart import RolesApart

from hekat.cli.main import main
from hekat.launch.horizontal_trees.run import run_row_trees_job
from hekat.launch.rows.processes import FINAL
from hekat.report import brief_of, load_summary, terminal_findings, terminal_tables
from hekat.report.views import render_page
from hekat.run.horizontal_trees.load_inputs import load_row_trees_inputs

# The party's process ends where `--lose` would have it leave.
KILLED_IN_ITERATION_2 = """
import os, signal
from hekat.run.horizontal_trees.role import RowTreesRole
def leave(self, step, part):
    if (self._round_of(step), part) == (2, "sign"):
        os.kill(os.getpid(), signal.SIGKILL)
RowTreesRole._leave_where_asked = leave
"""


def model_in(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "model.npz") as file:
        return {name: file[name] for name in file.files if file[name].dtype.kind in "fiu" and name != "hekat"}


def assert_same_model(one: Path, other: Path) -> None:
    first, second = model_in(one), model_in(other)
    assert "node_value" in first
    for name, values in first.items():
        assert np.array_equal(values, second[name]), name


def apart_from(clinics: Clinics, place: Path) -> RolesApart:
    clinics.write_whole_job()
    place.mkdir()
    sites = {
        name: f'[party.{name}.data.patients]\nsource = "csv"\npath = "{clinics.folder / name}.csv"\nlabel = "sick"\n'
        for name in PARTIES
    }
    common = f'[common_data.test]\nsource = "csv"\npath = "{clinics.folder}/test.csv"\nlabel = "sick"\n'
    text = (clinics.folder / "job.toml").read_text()
    return RolesApart(place, text, (*PARTIES, "hub"), sites, more_sites=common)


@pytest.mark.long
def test_a_run_that_stopped_in_processes_goes_on_in_one(clinics, finished, tmp_path, capsys) -> None:
    apart = apart_from(clinics, tmp_path / "apart")
    job = apart.together / "job.toml"
    runs = tmp_path / "runs"
    assert main(["run", str(job), "--runs", str(runs), "--processes", "--lose", "lake:2"]) == 2
    told = capsys.readouterr().err
    assert "saved: checkpoint of iteration 1" in told
    (folder,) = runs.iterdir()
    assert not (folder / "roles").exists()
    resumed = run_row_trees_job(load_row_trees_inputs(job), tmp_path / "resumed", resume_from=folder)
    assert_same_model(resumed.folder, finished.result.folder)


@pytest.mark.long
def test_processes_leave_what_one_process_leaves(clinics, tmp_path, capsys) -> None:
    apart = apart_from(clinics, tmp_path / "apart")
    job, runs = apart.together / "job.toml", tmp_path / "runs"
    assert main(["run", str(job), "--runs", str(runs), "--processes", "--json"]) == 0
    (folder,) = runs.iterdir()
    straight = run_row_trees_job(clinics.load_inputs(), tmp_path / "straight")
    assert_same_model(folder, straight.folder)
    summary = load_summary(folder)
    assert summary["played"] == "at once"
    finals = [
        [one for line in (run / "events.jsonl").read_text().splitlines() if (one := json.loads(line))["event"] == FINAL]
        for run in (folder, straight.folder)
    ]
    for (final,) in finals:
        final.pop("time")
    assert finals[0] == finals[1]
    for name in ("parties", "results", "trees", "importance", "included", "aggregator_saw"):
        assert summary[name] == load_summary(straight.folder)[name], name
    assert main(["audit", str(folder)]) == 0


@pytest.mark.long
def test_roles_apart_go_on_from_folders_of_their_own(clinics, tmp_path, fork) -> None:
    apart = apart_from(clinics, tmp_path / "apart")
    apart.preludes["lake"] = KILLED_IN_ITERATION_2
    stopped = apart.play(fork, may_drop_out=PARTIES)
    assert all(one.code for one in stopped.values())
    apart.preludes.clear()
    for role in apart.roles:
        before = apart.run_of(role).rename(apart.folder_of(role) / "stopped")
        apart.options[role] = ["--resume", str(before)]
    assert {role: one.code for role, one in apart.play(fork).items()} == dict.fromkeys(apart.roles, 0)
    straight = run_row_trees_job(clinics.load_inputs(), tmp_path / "straight")
    for party in PARTIES:
        assert_same_model(apart.run_of(party), straight.folder)
    for role in apart.roles:
        summary = load_summary(apart.run_of(role))
        assert render_page(summary)
        assert terminal_findings(summary)
        assert terminal_tables(summary)
        assert brief_of(summary)
        assert (summary["aggregator_saw"] != []) == (role == "hub")
