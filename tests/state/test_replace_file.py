"""A file is replaced whole or not at all, whatever the disk does."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hekat.atomic_file import overwrite_file, replace_file
from hekat.errors import StateError

Limit = Callable[[int], AbstractContextManager[None]]


def listing(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_new_and_replaced_files_are_whole_with_their_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "state"
    before = os.umask(0o077)
    try:
        for content in (b"first", b"", bytes(range(256)) * 9999):
            replace_file(path, content, mode=mode)
            assert path.read_bytes() == content
            assert stat.S_IMODE(path.stat().st_mode) == mode
            assert listing(tmp_path) == ["state"]
    finally:
        os.umask(before)


@pytest.mark.parametrize("existed", [True, False])
def test_a_disk_that_refuses_leaves_everything_as_it_was(
    tmp_path: Path, existed: bool, disk_failure: tuple[str, int, str], failing_call: Callable[[str, int], None]
) -> None:
    path = tmp_path / "state"
    if existed:
        path.write_bytes(b"old")
    before = listing(tmp_path)
    failing_call(*disk_failure[:2])
    with pytest.raises(StateError, match=disk_failure[2]):
        replace_file(path, b"new")
    assert listing(tmp_path) == before
    assert not existed or path.read_bytes() == b"old"


def test_a_real_limit_that_takes_only_a_part(tmp_path: Path, file_size_limit: Limit) -> None:
    path = tmp_path / "state"
    replace_file(path, b"old")
    with file_size_limit(1000), pytest.raises(StateError, match="File too large; cure: raise the limit"):
        replace_file(path, bytes(1001))
    assert path.read_bytes() == b"old"
    assert listing(tmp_path) == ["state"]
    with file_size_limit(1000):
        replace_file(path, bytes(1000))
    assert path.read_bytes() == bytes(1000)


def test_short_writes_are_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:7]))
    replace_file(tmp_path / "state", bytes(range(100)))
    assert (tmp_path / "state").read_bytes() == bytes(range(100))


def test_content_is_synced_before_the_name_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    real_fsync, real_replace = os.fsync, Path.replace

    def fsync(handle: int) -> None:
        calls.append("sync folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "sync file")
        real_fsync(handle)

    def replace(self: Path, target: Path) -> Path:
        calls.append("rename")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    replace_file(tmp_path / "state", b"new")
    assert calls == ["sync file", "rename", "sync folder"]


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for path, message in [
        (tmp_path / "missing" / "state", "its folder must be there"),
        (tmp_path / "file" / "state", "choose a path inside a folder"),
        (tmp_path / ("n" * 300), "choose a shorter name"),
        (tmp_path / "folder", "give the path of a file"),
    ]:
        with pytest.raises(StateError, match=message):
            replace_file(path, b"new")
    assert listing(tmp_path) == ["file", "folder"]


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "state").symlink_to(tmp_path / "target")
    replace_file(tmp_path / "state", b"new")
    assert (tmp_path / "target").read_bytes() == b"old"
    assert not (tmp_path / "state").is_symlink()


def test_what_ends_with_the_process_is_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "state"
    overwrite_file(path, b"a longer content")
    inode = path.stat().st_ino
    overwrite_file(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777, path.stat().st_ino) == (b"new", 0o600, inode)
    with pytest.raises(StateError, match="could not be written"):
        overwrite_file(tmp_path, b"newer")
