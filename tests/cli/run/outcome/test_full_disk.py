"""A disk that fills up as a run ends: the command says what is missing and how to get it, and does not end with 0."""

from __future__ import annotations

import errno
import json
import os
import shlex
from pathlib import Path

import pytest

from hekat import atomic_file


@pytest.fixture
def full_for(monkeypatch):
    """full_for(name): the disk takes every file but the one of that name, until full_for(None)."""
    written = atomic_file.write_all
    full: list[str | None] = [None]

    def write_all(handle: int, data: bytes) -> None:
        path = str(Path(f"/proc/self/fd/{handle}").readlink())
        if full[0] is not None and f"/.{full[0]}." in path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written(handle, data)

    monkeypatch.setattr(atomic_file, "write_all", write_all)
    return lambda name: full.__setitem__(0, name)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_missing_report_is_an_error_that_says_how_to_get_it(workplace, full_for, options) -> None:
    workplace.shorten()
    full_for("report.html")
    answer = workplace.run(*options)
    (folder,) = workplace.folders()
    assert answer.code == 2
    assert "error: the run is finished, and its report is missing" in answer.err
    assert "No space left on device" in answer.err
    if options:
        assert json.loads(answer.out)["folder"] == str(folder)
    else:
        assert "run folder" in answer.out
        assert "report.html" not in answer.out
    (cure,) = [line for line in answer.err.splitlines() if "cure:" in line]
    assert "free some space on the disk" in cure
    full_for(None)
    words = shlex.split(cure.partition("try again: ")[2])
    assert words[1:] == ["report", str(folder)]
    assert workplace.call(*words[1:]).code == 0
    assert (folder / "report.html").exists()


def test_a_run_without_its_summary_is_resumed_to_have_one(workplace, full_for) -> None:
    """All rounds are done and the model is there: what is left is little, and no new run is needed."""
    workplace.shorten()
    full_for("summary.json")
    answer = workplace.run()
    (folder,) = workplace.folders()
    assert answer.code == 2
    assert "summary.json could not be written" in answer.err
    assert (folder / "model.npz").exists()
    (hint,) = [line for line in answer.err.splitlines() if "go on from its last checkpoint with: " in line]
    full_for(None)
    words = shlex.split(hint.partition("with: ")[2])
    answer = workplace.call(*words[1:])
    assert answer.code == 0, answer.err
    resumed = workplace.folders()[-1]
    assert (resumed / "summary.json").exists()
    assert (resumed / "model.npz").read_bytes() == (folder / "model.npz").read_bytes()
