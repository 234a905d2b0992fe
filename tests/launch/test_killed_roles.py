"""A role's process that is killed: the others are told of the same stop as where the role fails in one process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.launch.jobs_apart import credit, customers, protected_clinics
from tests.launch.roles_apart import RolesApart

from hekat.errors import ChannelError, PartyStoppedError
from hekat.launch.horizontal.run import run_job
from hekat.launch.psi.run import run_intersection_job
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.ledger import RecordedChannel
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.run.psi.load_inputs import load_intersection_inputs
from hekat.run.vertical_linear.load_inputs import load_vertical_inputs

# The process ends as its role sends its first message of such a step, "" being any.
KILLED_AT = """
import os, signal
from hekat.ledger import RecordedChannel
send = RecordedChannel.send
def send_or_die(self, to, step, message):
    if {step!r} in step:
        os.kill(os.getpid(), signal.SIGKILL)
    return send(self, to, step, message)
RecordedChannel.send = send_or_die
"""
# How one process plays all roles, by protocol; per job how it is made, and which role is killed in which step.
RUNS: dict[str, Callable[[Path, Path], object]] = {
    "horizontal": lambda job, runs: run_job(load_inputs(job), runs),
    "psi": lambda job, runs: run_intersection_job(load_intersection_inputs(job), runs),
    "vertical": lambda job, runs: run_vertical_job(load_vertical_inputs(job), runs),
}
JOBS: dict[str, tuple[Callable[[Path, Any], RolesApart], str, str]] = {
    "horizontal, paillier": (lambda place, keys: protected_clinics(place, keys, "paillier"), "east", "round-1/"),
    "horizontal, none": (lambda place, keys: protected_clinics(place, keys, "none"), "hub", "round-2/"),
    "psi, ecdh": (lambda place, keys: customers(place, "ecdh"), "insurer", ""),
    "vertical, arbiter": (lambda place, keys: credit(place, keys, "arbiter"), "arbiter", "epoch-1"),
    "vertical, shared_weights": (lambda place, keys: credit(place, keys, "shared_weights"), "bank", "epoch-2"),
}
# Of each protocol one job stays in the quick run.
LONG = ("horizontal, paillier", "vertical, arbiter")


@pytest.mark.quick_cases("psi, ecdh")
@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.long) if one in LONG else one for one in JOBS])
def test_all_others_are_told_what_they_are_told_in_one_process(
    fork, tmp_path, paillier_keys, monkeypatch, name
) -> None:
    make, killed, step = JOBS[name]
    run = RUNS[name.partition(",")[0]]
    apart = make(tmp_path, paillier_keys)
    send = RecordedChannel.send

    def send_or_fail(self, to, its_step, message):
        if self.party == killed and step in its_step:
            raise ChannelError("left, as was asked for")
        return send(self, to, its_step, message)

    with monkeypatch.context() as patched:
        patched.setattr(RecordedChannel, "send", send_or_fail)
        with pytest.raises(PartyStoppedError) as stop:
            run(apart.together / "job.toml", tmp_path / "runs")
    assert stop.value.party == killed
    apart.preludes[killed] = KILLED_AT.format(step=step)
    ended = apart.play(fork)
    assert ended.pop(killed).code == -9
    for role, one in ended.items():
        assert one.code == 2, role
        assert f"party {killed!r} stopped in step {stop.value.step!r}" in one.told["error"], role
        assert "its process ended" in one.told["error"], role
        assert not (apart.run_of(role) / "summary.json").exists(), role
        # What a role saved itself is what it is told of, and what its log keeps.
        if list(apart.run_of(role).glob("checkpoint*")):
            assert one.told["saved"].startswith("checkpoint of"), role
            last = json.loads((apart.run_of(role) / "events.jsonl").read_text().splitlines()[-1])
            assert last["saved"] == one.told["saved"], role
