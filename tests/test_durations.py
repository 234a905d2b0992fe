"""The table of CPU seconds by folder, and its ceilings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from types import SimpleNamespace

import pytest
from tests import durations
from tests.durations import (
    CEILINGS_S,
    COLLECTION,
    COUNTED,
    LONG_CEILINGS_S,
    TOP_FILES,
    Durations,
    cpu_seconds,
    find_slow,
    folder_of,
)


@pytest.mark.parametrize(
    ("node_id", "folder"),
    [
        ("tests/cli/init/test_init.py::test_a", "cli"),
        ("tests/protocol/psi/test_ids.py::test_a[b/c::d]", "protocol"),
        ("tests/test_package.py::test_a", TOP_FILES),
    ],
)
def test_a_test_counts_for_its_folder_below_tests(node_id: str, folder: str) -> None:
    assert folder_of(node_id) == folder


def test_what_is_above_its_ceiling_is_named_and_nothing_else() -> None:
    slow = find_slow({"a": 2.1, "b": 2.0, "c": 5.1, "d": 0.0}, {"a": 2.0, "b": 2.0}, 5.0)
    assert slow == {
        "a": "a: 2.1 CPU seconds, and its ceiling is 2",
        "c": "c: 5.1 CPU seconds, and its ceiling is 5",
    }


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the times of other processes in /proc")
def test_a_child_that_lasts_counts_before_it_has_ended_and_only_once(monkeypatch) -> None:
    """So does what it started: here a process that has ended."""
    spins = "import os, time\nwhile time.process_time() < 0.3: pass"
    lasts = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {spins!r}])\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", lasts], stdin=PIPE, stdout=PIPE, text=True) as child:
        child.stdout.readline()
        before = cpu_seconds()
        monkeypatch.setattr(durations, "LASTING_CHILDREN", durations.LASTING_CHILDREN | {child.pid})
        told = cpu_seconds() - before
        monkeypatch.undo()
        child.communicate("\n")
        once_ended = cpu_seconds() - before
    assert told > 0.25
    assert once_ended >= told


def test_a_child_that_is_gone_counts_nothing(monkeypatch) -> None:
    monkeypatch.setattr(durations, "LASTING_CHILDREN", {2**30})
    assert cpu_seconds() > 0


class _Screen:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title: str) -> None:
        self.lines.append(title)

    def write_line(self, line: str, **_: bool) -> None:
        self.lines.append(line)


def _config(held: bool, marks: str = "not long") -> SimpleNamespace:
    return SimpleNamespace(getoption={"cpu_ceilings": held, "markexpr": marks}.__getitem__)


def _worker(seconds: dict[str, float], tests: dict[str, int]) -> SimpleNamespace:
    """One that has ended, as the process that handed it tests sees it."""
    return SimpleNamespace(workeroutput={COUNTED: (seconds, tests)})


@pytest.mark.parametrize(
    ("held", "before", "after"),
    [
        (True, pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED),
        (True, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERRUPTED),
        (False, pytest.ExitCode.OK, pytest.ExitCode.OK),
    ],
)
def test_seconds_of_all_workers_are_added_and_a_run_told_to_hold_ceilings_fails(held, before, after) -> None:
    measured, screen = Durations(_config(held)), _Screen()
    measured.pytest_testnodedown(_worker({"cli": 9000.5, COLLECTION: 3.0}, {"cli": 1}))
    measured.pytest_testnodedown(_worker({"cli": 1000.0, "wire": 2.0, COLLECTION: 4.0}, {"cli": 2, "wire": 1}))
    # One that crashed.
    measured.pytest_testnodedown(SimpleNamespace())
    measured.pytest_terminal_summary(screen)
    assert [line.split() for line in screen.lines[1:5]] == [
        ["10000.5", "cli", "3", "tests"],
        ["7.0", COLLECTION],
        ["2.0", "wire", "1", "tests"],
        ["10009.5", "together"],
    ]
    assert screen.lines[5:] == [f"TOO SLOW  cli: 10000.5 CPU seconds, and its ceiling is {CEILINGS_S['cli']:.0f}"]
    session = SimpleNamespace(exitstatus=before)
    measured.pytest_sessionfinish(session, before)
    assert session.exitstatus == after


def test_a_worker_tells_what_its_tests_used_to_their_last_report(monkeypatch) -> None:
    clock = [10.0]
    monkeypatch.setattr(durations, "cpu_seconds", lambda: clock[0])
    output: dict[str, object] = {}
    measured = Durations(SimpleNamespace(getoption=_config(True).getoption, workeroutput=output))
    measured.pytest_collection_finish()
    measured.pytest_runtestloop()
    for when, used_s in (("setup", 1.0), ("call", 2.0), ("teardown", 4.0)):
        clock[0] += used_s
        report = SimpleNamespace(nodeid="tests/cli/init/test_init.py::test_a", when=when)
        around = measured.pytest_runtest_makereport()
        next(around)
        with pytest.raises(StopIteration):
            around.send(report)
    measured.pytest_sessionfinish(SimpleNamespace(), pytest.ExitCode.OK)
    assert output[COUNTED] == ({COLLECTION: 10.0, "cli": 7.0}, {"cli": 1})


@pytest.mark.parametrize(
    ("marks", "slow"),
    [("not long", ["engine"]), ("", ["engine"]), ("long", []), ("(long or hypothesis) and not waits", [])],
)
def test_long_tests_have_ceilings_of_their_own(marks: str, slow: list[str]) -> None:
    measured, screen = Durations(_config(False, marks)), _Screen()
    seconds = (CEILINGS_S["engine"] + LONG_CEILINGS_S["engine"]) / 2
    measured.pytest_testnodedown(_worker({"engine": seconds}, {"engine": 1}))
    measured.pytest_terminal_summary(screen)
    assert [line.split()[2].rstrip(":") for line in screen.lines if line.startswith("TOO SLOW")] == slow
