"""Tests that wait come first."""

from __future__ import annotations

import pytest

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
