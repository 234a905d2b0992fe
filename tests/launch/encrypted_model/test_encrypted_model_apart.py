"""Roles of a training on an encrypted model apart: in processes of one machine, and at sites of their own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.launch.encrypted_model.conftest import HOSTS, ROLES, Clinics
from tests.launch.roles_apart import RolesApart

from hekat.cli.main import main
from hekat.report import brief_of, load_summary, terminal_findings, terminal_tables
from hekat.report.views import render_page
from hekat.run.encrypted_model.kept_parts import load_kept_parts
from hekat.run.horizontal.trained_model import load_trained_model

# The process ends as by a power cut.
KILLED_IN_ROUND_3 = """
import os, signal
from hekat.run.encrypted_model.folder_observer import FolderObserver
noted = FolderObserver.note_round
def leave(self, role, number):
    noted(self, role, number)
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
FolderObserver.note_round = leave
"""


def apart_from(clinics: Clinics, place: Path, *, protection: str) -> RolesApart:
    clinics.write_job(protection=protection)
    place.mkdir()
    sites = {name: f"[party.{name}.data.patients]\n{clinics.source(name)}" for name in HOSTS}
    sites["lab"] = f"[party.lab.data.kept]\n{clinics.source('lab')}"
    text = (clinics.folder / "job.toml").read_text()
    return RolesApart(place, text, ROLES, sites, policy='protections = ["lattice", "none"]')


def allow_owner(apart: RolesApart) -> None:
    """Each host lets the model of its rows go to the laboratory, by its key."""
    for host in HOSTS:
        path = apart.folder_of(host) / "site.toml"
        owners = f'model_owners = ["{apart.keys["lab"].public.text}"]'
        path.write_text(path.read_text().replace("[policy]\n", f"[policy]\n{owners}\n"))


@pytest.mark.long
def test_processes_leave_what_one_process_leaves(clinics, encrypted, tmp_path, capsys) -> None:
    clinics.write_job(protection="lattice")
    (clinics.folder / "site.toml").write_text((clinics.folder / "site.toml").read_text() + "[party.judge]\n")
    runs = tmp_path / "runs"
    assert main(["run", str(clinics.folder / "job.toml"), "--runs", str(runs), "--processes", "--json"]) == 0
    (folder,) = runs.iterdir()
    summary, straight = load_summary(folder), load_summary(encrypted.result.folder)
    assert summary["played"] == "at once"
    for name in ("parties", "columns", "training_rows", "measured_on", "test_rows"):
        assert summary[name] == straight[name], name
    assert summary["results"][0]["metrics"] == pytest.approx(straight["results"][0]["metrics"], abs=1e-6)
    rounds = [
        one
        for line in (folder / "events.jsonl").read_text().splitlines()
        if (one := json.loads(line))["event"] == "round"
    ]
    assert [one["round"] for one in rounds] == [1, 2, 3, 4]
    assert load_trained_model(folder).classes == ("no", "yes")
    assert set(load_kept_parts(folder, (*HOSTS, "hub", "judge"))) == {*ROLES} - {"lab"}
    assert main(["audit", str(folder)]) == 0


@pytest.mark.long
def test_roles_at_their_own_sites_go_on_after_a_stop_and_the_owner_alone_has_a_model(
    clinics, finished, tmp_path, fork
) -> None:
    apart = apart_from(clinics, tmp_path / "apart", protection="none")
    refused = apart.play(fork)
    assert all(one.code for one in refused.values())
    assert not apart.run_of("north").exists()
    allow_owner(apart)
    apart.preludes["lake"] = KILLED_IN_ROUND_3
    stopped = apart.play(fork)
    # A host has nothing to wait for once its last update is sent, and may have ended well by then.
    assert all(one.code for role, one in stopped.items() if role != "north")
    apart.preludes.clear()
    for role in apart.roles:
        before = apart.run_of(role).rename(apart.folder_of(role) / "stopped")
        apart.options[role] = ["--resume", str(before)]
    assert {role: one.code for role, one in apart.play(fork).items()} == dict.fromkeys(apart.roles, 0)
    assert [role for role in apart.roles if (apart.run_of(role) / "model.npz").exists()] == ["lab"]
    kept = {role: [path.name for path in apart.run_of(role).glob("kept/*")] for role in apart.roles}
    assert kept == {role: [] if role == "lab" else [f"{role}.npz"] for role in apart.roles}
    found, straight = load_trained_model(apart.run_of("lab")), load_trained_model(finished.result.folder)
    assert np.array_equal(found.parameters["weight"], straight.parameters["weight"])
    for role in apart.roles:
        summary = load_summary(apart.run_of(role))
        assert (summary["results"][0]["metrics"] != {}) == (role == "lab")
        assert render_page(summary)
        assert terminal_findings(summary)
        assert terminal_tables(summary)
        facts = dict(brief_of(summary).facts)
        assert ("on 120 rows" in facts["result"]) == (role == "lab")
