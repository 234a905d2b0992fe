"""CPU seconds of a run by folder of tests: a table at the end, and ceilings where the run is told to hold them.

A test counts what its process and the ended processes that it started used, so that other work on the machine does not.
With xdist each worker adds its own up, and the process that hands tests out adds up the sums of all workers.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path

# By its own name: a test may put another clock into the module `time`.
from time import process_time
from typing import Any

import pytest

COLLECTION = "collection"
COUNTED = "seconds and tests by folder"
TOP_FILES = "test_*.py"
# CPU seconds that a folder of `make test` may take, twice what it takes on a processor without AVX-512, where a run
# takes two to three times as long as on one that has it. Small ones have more room: on a machine whose host was busy
# the same tests took up to five times as many seconds.
CEILINGS_S = {
    "cli": 130.0,
    "conformance": 180.0,
    "engine": 120.0,
    "launch": 180.0,
    "own_loop": 120.0,
    "protocol": 450.0,
}
OTHERS_CEILING_S = 80.0
# The same for a run of the long tests or of some of them, which is not told to hold them.
LONG_CEILINGS_S = {
    "benchmarks": 400.0,
    "cli": 480.0,
    "conformance": 1250.0,
    "engine": 800.0,
    "faults": 450.0,
    "launch": 1000.0,
    "protocol": 660.0,
}
OTHERS_LONG_CEILING_S = 250.0
# Child processes that go on from one test to the next: what they use counts before they have ended.
LASTING_CHILDREN: set[int] = set()


def cpu_seconds() -> float:
    """User and system time so far of this process, all its threads, its ended children, and its lasting ones."""
    times = os.times()
    lasting = sum(map(_cpu_seconds_of, LASTING_CHILDREN))
    return process_time() + times.children_user + times.children_system + lasting


def _cpu_seconds_of(process: int) -> float:
    """The time of another process and of its ended children; 0 where the system does not tell."""
    try:
        # The name, in parentheses, may have spaces; the four times are fields 14 to 17 of proc(5).
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def folder_of(node_id: str) -> str:
    """The folder below tests/ of a test; files that lie in none count as one folder."""
    parts = node_id.partition("::")[0].split("/", 2)
    return parts[1] if len(parts) > 2 else TOP_FILES


def find_slow(seconds: Mapping[str, float], ceilings: Mapping[str, float], others_ceiling_s: float) -> dict[str, str]:
    """What is above its ceiling, with a line that says so."""
    return {
        name: f"{name}: {used:.1f} CPU seconds, and its ceiling is {ceiling:.0f}"
        for name, used in seconds.items()
        if used > (ceiling := ceilings.get(name, others_ceiling_s))
    }


class Durations:
    """Measures each test where it runs, and adds the seconds up; those of a worker when it has ended."""

    def __init__(self, config: pytest.Config) -> None:
        self._held = config.getoption("cpu_ceilings")
        is_long = "long" in config.getoption("markexpr").replace("not long", "")
        self._ceilings = (LONG_CEILINGS_S, OTHERS_LONG_CEILING_S) if is_long else (CEILINGS_S, OTHERS_CEILING_S)
        self._worker_output: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self._seconds: Counter[str] = Counter()
        self._tests: Counter[str] = Counter()
        self._last_s = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        self._last_s = cpu_seconds()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Count for a test's folder, with its last report, the tear-down's, what was used since the one before."""
        report = yield
        folder = folder_of(report.nodeid)
        self._tests[folder] += report.when == "call"
        if report.when == "teardown":
            now_s = cpu_seconds()
            self._seconds[folder] += now_s - self._last_s
            self._last_s = now_s
        return report

    def pytest_collection_finish(self) -> None:
        self._seconds[COLLECTION] = cpu_seconds()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker counted; one that crashed says nothing."""
        seconds, tests = getattr(node, "workeroutput", {}).get(COUNTED, ({}, {}))
        self._seconds.update(seconds)
        self._tests.update(tests)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._tests:
            return
        terminalreporter.section("CPU seconds by folder")
        for name, seconds in self._seconds.most_common():
            tests = f"{self._tests[name]:6d} tests" if name in self._tests else ""
            terminalreporter.write_line(f"{seconds:8.1f}  {name:<16} {tests}")
        terminalreporter.write_line(f"{sum(self._seconds.values()):8.1f}  together")
        for line in self._above_ceilings():
            terminalreporter.write_line(f"TOO SLOW  {line}", red=True)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._worker_output is not None:
            self._worker_output[COUNTED] = dict(self._seconds), dict(self._tests)
        if self._held and self._worker_output is None and exitstatus == pytest.ExitCode.OK and self._above_ceilings():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _above_ceilings(self) -> list[str]:
        return list(find_slow(self._seconds, *self._ceilings).values())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu-ceilings",
        action="store_true",
        help="fail a run in which a folder of tests takes more CPU time than it may",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Durations(config), "durations")
