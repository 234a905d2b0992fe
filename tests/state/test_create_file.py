"""Files written whole or not at all, never over another."""

from __future__ import annotations

import errno
import os
import resource
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from hekat.atomic_file import create_file
from hekat.errors import StateError

DATA = bytes(range(256)) * 64


def listing(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_file_is_whole_and_has_its_mode_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o000)
    try:
        create_file(tmp_path / "key", DATA, mode=mode)
    finally:
        os.umask(before)
    assert (tmp_path / "key").read_bytes() == DATA
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == mode
    assert listing(tmp_path) == ["key"]


def test_the_file_is_on_disk_before_it_has_its_name_and_the_name_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bool, int, bool]] = []
    fsync = os.fsync

    def look(handle: int) -> None:
        status = os.fstat(handle)
        is_file = stat.S_ISREG(status.st_mode)
        synced.append((is_file, status.st_size if is_file else 0, (tmp_path / "key").exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", look)
    create_file(tmp_path / "key", DATA, mode=0o600)
    assert synced == [(True, len(DATA), False), (False, 0, True)]


def test_never_over_another_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"old")
    with pytest.raises(StateError, match=r"is already there and is not overwritten.*cure: choose another path"):
        create_file(tmp_path / "key", DATA, mode=0o600)
    assert (tmp_path / "key").read_bytes() == b"old"
    assert listing(tmp_path) == ["key"]


def test_never_through_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="already there"):
        create_file(tmp_path / "key", DATA, mode=0o600)
    assert listing(tmp_path) == ["key"]


def refuse_links(*_: Any) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False], ids=["hard-links", "no-hard-links"])
def test_of_many_writers_one_wins(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    start = threading.Barrier(8)
    outcomes: list[int | None] = []

    def write(content: int) -> None:
        start.wait(timeout=30)
        try:
            create_file(tmp_path / "key", bytes([content]) * 1000, mode=0o600)
        except StateError:
            outcomes.append(None)
        else:
            outcomes.append(content)

    threads = [threading.Thread(target=write, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    winners = [content for content in outcomes if content is not None]
    assert len(outcomes) == 8
    assert len(winners) == 1
    assert (tmp_path / "key").read_bytes() == bytes(winners) * 1000
    assert listing(tmp_path) == ["key"]


def test_a_disk_that_takes_only_part_leaves_nothing(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(StateError, match="could not be written, nothing was left behind"):
            create_file(tmp_path / "key", DATA, mode=0o600)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert listing(tmp_path) == []


@pytest.mark.parametrize("call", ["fsync", "fchmod"])
def test_a_full_disk_says_so_and_leaves_nothing(tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(StateError, match=r"got No space left on device; cure: free some space"):
        create_file(tmp_path / "key", DATA, mode=0o600)
    assert listing(tmp_path) == []


def test_a_folder_that_cannot_be_synced_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fail_on_folders(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        real(handle)

    monkeypatch.setattr(os, "fsync", fail_on_folders)
    with pytest.raises(StateError, match="Input/output error"):
        create_file(tmp_path / "key", DATA, mode=0o600)
    assert listing(tmp_path) == []


def test_a_failed_rename_without_links_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(StateError, match="No space left"):
        create_file(tmp_path / "key", DATA, mode=0o600)
    assert listing(tmp_path) == []


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="its folder must be there"):
        create_file(tmp_path / "missing" / "key", DATA, mode=0o600)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StateError, match="cure: choose a path inside a folder"):
        create_file(tmp_path / "file" / "key", DATA, mode=0o600)


def test_a_name_too_long(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="choose a shorter name"):
        create_file(tmp_path / ("k" * 300), DATA, mode=0o600)
