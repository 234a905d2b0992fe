"""A worker tells of a test that passes by one report, of all else as xdist does, and its table of seconds is whole."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.workers import few_messages
from tests.workers.few_messages import FewMessages, is_untold

pytest_plugins = ["pytester"]

TESTS = """
import pytest
@pytest.fixture
def loud():
    yield
    print("said at the end")
@pytest.fixture
def broken():
    yield
    raise ValueError("not put away")
def test_passes(): pass
def test_fails(loud): assert 0
def test_is_not_put_away(broken): pass
def test_is_not_set_up(missing): pass
@pytest.mark.skip(reason="not today")
def test_is_skipped(): pass
"""
ALL_TOLD = """
import os
if "PYTEST_XDIST_WORKER" not in os.environ:
    def pytest_runtest_logreport(report):
        with open("told.txt", "a") as told:
            print(report.when, report.nodeid.partition("::")[2], file=told)
"""


def test_what_went_well_before_and_after_a_test_is_not_told_and_all_else_is(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makeini("[pytest]\n")
    pytester.makepyfile(**{"tests/wire/test_few": TESTS})
    pytester.makeconftest(ALL_TOLD)
    plugins = ("-p", "tests.workers.few_messages", "-p", "tests.durations", "-p", "no:cacheprovider")
    text = pytester.runpytest_inprocess(*plugins, "-n", "1").stdout.str()
    assert sorted((pytester.path / "told.txt").read_text().splitlines()) == [
        "call test_fails",
        "call test_is_not_put_away",
        "call test_passes",
        "setup test_is_not_set_up",
        "setup test_is_skipped",
        "teardown test_fails",
        "teardown test_is_not_put_away",
    ]
    assert "said at the end" in text
    assert re.search(r"1 failed, 2 passed, 1 skipped, 2 errors", text)
    assert re.search(r"\d  wire +3 tests\n", text)
    assert re.search(r"\d  collection", text)


@pytest.mark.parametrize(
    ("when", "passed", "sections", "untold"),
    [
        ("setup", True, [], True),
        ("teardown", True, [], True),
        ("call", True, [], False),
        ("teardown", False, [], False),
        ("setup", True, [("Captured stdout setup", "words")], False),
        (None, True, [], False),
    ],
)
def test_only_fixtures_that_did_well_in_silence_are_untold(when, passed, sections, untold) -> None:
    report = SimpleNamespace(when=when, passed=passed, sections=sections)
    assert is_untold(report) == untold
    sent: list[str] = []
    plugin = FewMessages()
    send = plugin.told(lambda name, **fields: sent.append(name))
    send("testreport", data=plugin.pytest_report_to_serializable(report) or {"outcome": "passed"})
    assert sent == ([] if untold else ["testreport"])


@pytest.mark.parametrize(
    ("changed", "few"),
    [({}, True), ({"verbose": 1}, False), ({"xmlpath": "results.xml"}, False), ({"durations": 0}, False)],
)
def test_runs_that_list_every_step_are_told_everything(changed, few) -> None:
    registered: list[str] = []
    options = SimpleNamespace(**({"verbose": 0, "xmlpath": None, "durations": None} | changed))
    plugins = SimpleNamespace(register=lambda plugin, name: registered.append(name))
    few_messages.pytest_configure(SimpleNamespace(option=options, workerinput={}, pluginmanager=plugins))
    assert registered == ["few_messages"] * few
    few_messages.pytest_configure(SimpleNamespace(option=options, pluginmanager=plugins))
    assert registered == ["few_messages"] * few
