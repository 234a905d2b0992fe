"""The table of CPU seconds by folder, and its ceilings."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.durations import CEILINGS_S, COLLECTION, TOP_FILES, Durations, find_slow, folder_of


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


class _Screen:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title: str) -> None:
        self.lines.append(title)

    def write_line(self, line: str, **_: bool) -> None:
        self.lines.append(line)


def _config(held: bool) -> SimpleNamespace:
    return SimpleNamespace(getoption={"cpu_ceilings": held}.__getitem__)


def _report(node_id: str, when: str, seconds: float) -> SimpleNamespace:
    return SimpleNamespace(nodeid=node_id, when=when, cpu_s=seconds)


@pytest.mark.parametrize(
    ("held", "before", "after"),
    [
        (True, pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED),
        (True, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERRUPTED),
        (False, pytest.ExitCode.OK, pytest.ExitCode.OK),
    ],
)
def test_seconds_of_all_workers_are_added_and_a_run_told_to_hold_ceilings_fails(held, before, after) -> None:
    durations, screen = Durations(_config(held)), _Screen()
    for when, seconds in (("setup", 1.0), ("call", 9999.0), ("teardown", 0.5)):
        durations.pytest_runtest_logreport(_report("tests/cli/init/test_init.py::test_a", when, seconds))
    durations.pytest_runtest_logreport(_report("tests/wire/test_body.py::test_b", "call", 2.0))
    for seconds in (3.0, 4.0):
        durations.pytest_testnodedown(SimpleNamespace(workeroutput={COLLECTION: seconds}))
    durations.pytest_terminal_summary(screen)
    assert [line.split() for line in screen.lines[1:5]] == [
        ["10000.5", "cli", "1", "tests"],
        ["7.0", COLLECTION],
        ["2.0", "wire", "1", "tests"],
        ["10009.5", "together"],
    ]
    assert screen.lines[5:] == [f"TOO SLOW  cli: 10000.5 CPU seconds, and its ceiling is {CEILINGS_S['cli']:.0f}"]
    session = SimpleNamespace(exitstatus=before)
    durations.pytest_sessionfinish(session, before)
    assert session.exitstatus == after
