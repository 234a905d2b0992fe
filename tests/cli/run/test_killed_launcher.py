"""`hekat run --processes` whose own process is killed: what its roles saved is found where the run is resumed."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from pathlib import Path

import pytest
from tests.cli.run.test_state_folders import name_states

from hekat.launch.horizontal.run import run_job
from hekat.launch.local.role_folders import RoleFolders
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.state import load_checkpoint

ROLES = ("north", "east", "south", "hub")


def test_checkpoints_in_the_roles_own_folders_are_gone_on_from(workplace) -> None:
    assert workplace.run("--lose", "east:2").code == 2
    (stopped,) = workplace.folders()
    own = stopped / "roles" / "east" / stopped.name
    own.mkdir(parents=True)
    (stopped / "checkpoint.npz").rename(own / "checkpoint.npz")
    with RoleFolders(stopped, ROLES).held():
        answer = workplace.run("--resume", stopped)
        assert answer.code == 2
        assert "is still going on" in answer.err
        assert (own / "checkpoint.npz").exists()
    answer = workplace.run("--resume", stopped)
    assert answer.code == 0, answer.err
    assert (stopped / "checkpoint.npz").exists()
    assert not (stopped / "roles").exists()


# The launcher's process gets the signal as it hears of round 2.
KILLED_IN_ROUND_2 = """
import os
from hekat.launch.horizontal.processes import _Run
tell = _Run._tell
def tell_and_end(self, role, event):
    tell(self, role, event)
    if event.get("round") == 2:
        os.kill(os.getpid(), {number})
_Run._tell = tell_and_end
"""


def wait_until_none_plays(folder: Path) -> None:
    """The processes of roles hold their folder until they end, which they do when their relay is gone."""
    descriptor = os.open(folder / "roles", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.close(descriptor)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_whose_launcher_was_killed_goes_on(workplace, number) -> None:
    name_states(workplace, "north", "east", "south")
    rounds = 12
    workplace.edit("job.toml", "rounds = 2", f"rounds = {rounds}")
    job = workplace.folder / "job.toml"
    prelude = KILLED_IN_ROUND_2.format(number=int(number))
    launcher = workplace.start("run", job, "--runs", workplace.runs, "--processes", prelude=prelude)
    launcher.communicate(timeout=120)
    (folder,) = workplace.folders()
    assert launcher.returncode == (130 if number == signal.SIGTERM else -9)
    if number == signal.SIGKILL:
        wait_until_none_plays(folder)
    else:
        assert not (folder / "roles").exists()
    resumed = run_job(load_inputs(job), workplace.folder / "resumed", resume_from=folder)
    assert load_checkpoint(resumed.folder / "checkpoint.npz", load_inputs(job).job.digest).rounds_done == rounds
    events = [json.loads(line) for line in (resumed.folder / "events.jsonl").read_text().splitlines()]
    (begun,) = [event for event in events if event["event"] == "resumed"]
    assert 2 <= begun["rounds_done"] < rounds


# What a role's process runs at its start: one that finds its own data unfit in the middle of training.
UNFIT = """
import sys
if "--role=east" in sys.argv:
    from hekat.errors import InputError
    from hekat.ledger import RecordedChannel
    send = RecordedChannel.send
    def refuse(self, to, step, message, *wait, **named):
        # What is dealt for a round leaves in the round before it.
        if step.startswith("round-2") and step.endswith("/upload"):
            raise InputError("label missing in row 17", cure="look at row 17")
        return send(self, to, step, message, *wait, **named)
    RecordedChannel.send = refuse
"""


# Every party's model finds no room on the disk, after all have trained it.
UNSAVED = """
import sys
if any(word.startswith("--role=") for word in sys.argv):
    from hekat.errors import StateError
    from hekat.run.horizontal import role_run
    def refuse(*_):
        raise StateError("No space left on device")
    role_run.save_trained_model = refuse
"""


def start_with(workplace, monkeypatch, program: str) -> None:
    """Have every process of a role run this first."""
    (workplace.folder / "start").mkdir()
    (workplace.folder / "start" / "sitecustomize.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(workplace.folder / "start"))


@pytest.mark.long
def test_where_no_party_has_a_model_the_run_has_not_ended_well(workplace, monkeypatch) -> None:
    name_states(workplace, "north", "east", "south")
    start_with(workplace, monkeypatch, UNSAVED)
    answer = workplace.run("--processes")
    assert answer.code == 2
    assert "No space left on device" in answer.err
    assert "saved: checkpoint of round 2" in answer.err
    (folder,) = workplace.folders()
    assert not (folder / "summary.json").exists()


@pytest.mark.long
def test_a_run_that_one_partys_error_ends_is_told_in_that_partys_words(workplace, monkeypatch) -> None:
    name_states(workplace, "north", "east", "south")
    start_with(workplace, monkeypatch, UNFIT)
    answer = workplace.run("--processes")
    assert answer.code == 2
    assert "party 'east' stopped in step" in answer.err
    assert "label missing in row 17" in answer.err
    assert "cure: look at row 17" in answer.err
    assert "saved: checkpoint of round 1" in answer.err
