"""A passphrase in a file is its owner's alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hekat.errors import KeyRefusedError
from hekat.launch.passphrase_file import read_passphrase_file

PASSPHRASE = b"correct horse"


def write(path: Path, mode: int) -> Path:
    path.write_bytes(PASSPHRASE + b"\r\n")
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_the_owners_file_is_read_without_its_line_break(tmp_path: Path, mode: int) -> None:
    assert read_passphrase_file(write(tmp_path / "passphrase", mode)) == PASSPHRASE


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_may_read_or_write_is_refused_with_the_cure(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path / "passphrase", mode)
    with pytest.raises(KeyRefusedError, match="others may read") as caught:
        read_passphrase_file(path)
    assert "chmod 600" in str(caught.value)
    assert PASSPHRASE.decode() not in str(caught.value)
    path.chmod(0o600)
    assert read_passphrase_file(path) == PASSPHRASE


def test_a_shells_process_substitution_is_read() -> None:
    """`--passphrase-file <(pass show hekat)`: a pipe that nobody else has open."""
    reads, writes = os.pipe()
    os.write(writes, PASSPHRASE + b"\n")
    os.close(writes)
    try:
        assert read_passphrase_file(Path(f"/dev/fd/{reads}")) == PASSPHRASE
    finally:
        os.close(reads)


def test_a_file_that_is_not_there_is_told_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(KeyRefusedError, match="cannot be read"):
        read_passphrase_file(tmp_path / "none")
