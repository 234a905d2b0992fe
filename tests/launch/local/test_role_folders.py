"""The folders in which roles in processes write: made one folder of, and held as long as any process lives."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hekat.errors import StateError
from hekat.launch.local.role_folders import RoleFolders
from hekat.summary.psi.role_result import IntersectionResult

RUN_ID = "20260101T000000Z-0123ab"


@pytest.fixture
def folders(tmp_path) -> RoleFolders:
    found = RoleFolders(tmp_path / RUN_ID, ("north", "events"))
    found.run.mkdir()
    return found


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_joined_folders_have_every_file_but_those_that_each_role_has_for_itself(folders) -> None:
    for role in folders.roles:
        own = folders.folder_of(role)
        write(own / "events.jsonl", role)
        write(own / "parties.json", role)
        write(own / "ledger" / f"{role}.jsonl", role)
    write(folders.run / "events.jsonl", "the launcher's")
    folders.join(["events.jsonl"])
    folders.remove()
    left = {path.relative_to(folders.run).as_posix() for path in folders.run.rglob("*") if path.is_file()}
    # A role may be named as a file that is kept apart.
    assert left == {"events.jsonl", "parties.json", "ledger/north.jsonl", "ledger/events.jsonl"}
    assert (folders.run / "events.jsonl").read_text() == "the launcher's"
    assert not folders.are_left


def test_folders_are_held_as_long_as_a_process_that_was_started_lives(folders) -> None:
    with folders.held() as lock:
        child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, pass_fds=(lock,))
    with pytest.raises(StateError, match="is still going on"), folders.held():
        pass
    child.communicate()
    with folders.held():
        assert folders.are_left


def test_a_result_that_is_damaged_or_not_there_is_named(folders) -> None:
    with pytest.raises(StateError, match=r"result\.json"):
        folders.result_of("north", IntersectionResult, "psi")
    write(folders.folder_of("north") / "result.json", "{")
    with pytest.raises(StateError, match=r"result\.json"):
        folders.result_of("north", IntersectionResult, "psi")


@pytest.mark.parametrize("way", ["own folder", "file", "destination", "fifo", "roles"])
def test_a_hostile_run_folder_has_nothing_moved_by_its_links(folders, tmp_path, way) -> None:
    """It would move a user's own files into the run, or write over them, or hold the command at a pipe for good."""
    private = tmp_path / "private"
    write(private / "authorized_keys", "the user's own")
    own = folders.folder_of("north")
    write(own / "ledger" / "authorized_keys", "planted")
    if way == "own folder":
        shutil.rmtree(own)
        own.symlink_to(private)
    elif way == "file":
        (own / "checkpoint.npz").symlink_to(private / "authorized_keys")
    elif way == "destination":
        (folders.run / "ledger").symlink_to(private)
    elif way == "fifo":
        os.mkfifo(own / "checkpoint.npz")
    else:
        (folders.run / "roles").rename(tmp_path / "elsewhere")
        (folders.run / "roles").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError):
        check_under_lock(folders)
    assert (private / "authorized_keys").read_text() == "the user's own"


def check_under_lock(folders: RoleFolders) -> None:
    with folders.held():
        folders.check_found()


def test_what_killed_roles_left_passes(folders) -> None:
    write(folders.folder_of("north") / "ledger" / "north.jsonl", "north")
    (folders.run / "ledger").mkdir()
    check_under_lock(folders)
