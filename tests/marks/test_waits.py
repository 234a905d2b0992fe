"""Tests that wait come first, and the long run has a worker that computes meanwhile."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from tests.marks.waits import pytest_xdist_auto_num_workers

pytest_plugins = ["pytester"]


def test_those_that_wait_come_first_and_the_others_stay_in_order(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers =\n waits: waits\n")
    pytester.makepyfile(
        test_a="def test_1(): pass\ndef test_2(): pass",
        test_b="import pytest\npytestmark = pytest.mark.waits\ndef test_4(): pass\ndef test_3(): pass",
        test_c="import pytest\ndef test_5(): pass\n@pytest.mark.waits\ndef test_6(): pass",
    )
    lines = pytester.runpytest_inprocess("-p", "tests.marks.waits", "-q", "--collect-only").outlines
    assert [line[-1] for line in lines if "::" in line] == list("436125")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system binds no process to a processor")
def test_the_long_run_has_a_worker_more_than_processors(monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})

    def workers(marks: str) -> int | None:
        return pytest_xdist_auto_num_workers(SimpleNamespace(getoption={"markexpr": marks}.__getitem__))

    assert workers("long") == 4
    assert workers("not long") is None
    assert workers("") is None
