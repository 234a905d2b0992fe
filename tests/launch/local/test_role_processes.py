"""What the launcher of a run in processes gives them, takes from the disk, and says of their ends."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from hekat.channel import PartyKey
from hekat.errors import InputError, ModelsDifferError, PartyStoppedError
from hekat.job.load_any_job import load_any_job, roles_of
from hekat.launch.local import processes as processes_module
from hekat.launch.local.processes import JobFiles, RoleProcesses, remove_key_folders, with_reason
from hekat.state import create_run_directory

INTERSECTION = Path(__file__).parents[3] / "examples" / "intersection"


@pytest.fixture
def processes(tmp_path, monkeypatch) -> RoleProcesses:
    """Of a job file that is a link, named from another folder."""
    (tmp_path / "job.toml").symlink_to(INTERSECTION / "job.toml")
    monkeypatch.chdir(tmp_path)
    job = load_any_job(Path("job.toml"))
    keys = {role: PartyKey.generate() for role in roles_of(job)}
    return RoleProcesses(JobFiles(Path("job.toml")), job, create_run_directory(tmp_path / "runs"), keys)


def test_every_process_reads_the_files_that_were_checked(processes, tmp_path) -> None:
    """The site file lies beside the job as it was named, and not beside what a link leads to."""
    for role, words in processes._commands(tmp_path).items():
        assert words[:3] == ["run", str(tmp_path / "job.toml"), f"--role={role}"]
        assert words[words.index("--site") + 1] == str(tmp_path / "site.toml")


def test_no_key_of_the_run_is_left_on_the_disk_once_every_role_has_read_its_own(processes, tmp_path) -> None:
    processes._commands(tmp_path)
    (tmp_path / "0.json").touch()
    assert len(list(tmp_path.glob("keys-*/own.key"))) == len(processes.keys)
    remove_key_folders(tmp_path)
    assert not list(tmp_path.glob("keys-*"))
    assert (tmp_path / "0.json").exists()


def test_the_keys_are_gone_as_soon_as_all_have_joined(processes, tmp_path, monkeypatch) -> None:
    """The run that follows may take days, and a stolen key of the run could sign in a role's name meanwhile."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    keys_left: list[int] = []

    def count() -> None:
        keys_left.append(len(list(tmp_path.glob("*/keys-*/own.key"))))

    def serve(on_dropout, on_all_joined) -> None:
        count()
        on_all_joined()
        count()

    def children_that_do_nothing(commands, place) -> SimpleNamespace:
        return SimpleNamespace(start=lambda *_, **__: None, end=lambda: None, kill=lambda: None)

    monkeypatch.setattr(processes_module, "Children", children_that_do_nothing)
    relay = nullcontext(SimpleNamespace(serve=serve, abandon=lambda error: None))
    monkeypatch.setattr(RoleProcesses, "_relay", lambda self, place: relay)
    processes.play()
    assert keys_left == [len(processes.keys), 0]


@pytest.mark.parametrize("cause", [ModelsDifferError("other models"), InputError("label missing in row 17")])
def test_the_reason_that_a_process_told_keeps_whether_it_ends_the_run_for_all(cause) -> None:
    """The relay knows only the kind of an error; the words lie with the process."""
    error = PartyStoppedError("party 'a' stopped", party="a", step="s", saved="checkpoint of round 1")
    error.__cause__ = cause
    assert with_reason(error, None) is error
    told = InputError("in the words of its process")
    stop = with_reason(error, told)
    assert stop.__cause__ is told
    assert told.ends_run == cause.ends_run
    assert "in the words of its process" in str(stop)
    assert (stop.party, stop.step, stop.saved) == ("a", "s", "checkpoint of round 1")


def test_a_stop_told_with_what_was_saved_keeps_who_gave_up_on_whom() -> None:
    error = PartyStoppedError("party 'a' stopped", party="a", step="s", saved="checkpoint of round 1")
    error.notice, error.expelled_by, error.told_reason = object(), "hub", "said nothing"
    stop = error.with_saved("checkpoint of round 2")
    assert (stop.what, stop.saved) == ("party 'a' stopped; saved: checkpoint of round 2", "checkpoint of round 2")
    assert (stop.notice, stop.expelled_by, stop.told_reason) == (error.notice, "hub", "said nothing")
