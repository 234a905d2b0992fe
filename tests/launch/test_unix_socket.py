"""A socket's file is its owner's alone before anybody could connect, whatever the umask."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hekat.errors import InputError
from hekat.launch.unix_socket import MAX_PATH_BYTES, bind_private


@pytest.fixture
def open_umask() -> Iterator[None]:
    former = os.umask(0)
    yield
    os.umask(former)


@pytest.mark.usefixtures("open_umask")
def test_the_file_is_private_as_it_is_made_and_other_files_are_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with bind_private(Path("own.sock")):
        assert stat.S_IMODE(Path("own.sock").stat().st_mode) == 0o600
        Path("other").touch()
        assert stat.S_IMODE(Path("other").stat().st_mode) == 0o666


def test_a_path_that_does_not_fit_is_refused_and_the_longest_that_does_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"up to {MAX_PATH_BYTES} bytes"):
        bind_private(Path("n" * (MAX_PATH_BYTES + 1)))
    with bind_private(Path("n" * MAX_PATH_BYTES)) as longest:
        longest.listen()
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect("n" * MAX_PATH_BYTES)


def test_the_umask_of_the_process_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is every thread's: a folder that another one makes meanwhile would be closed to its owner."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was changed"))
    bind_private(Path("own.sock")).close()


def test_a_path_that_is_taken_is_the_systems_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with bind_private(Path("a")), pytest.raises(OSError, match="in use"):
        bind_private(Path("a"))
