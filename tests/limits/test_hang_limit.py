"""A process whose test hangs ends and says where; the limit is set once a minute, and again after a failure."""

from __future__ import annotations

import faulthandler
from pathlib import Path
from types import SimpleNamespace

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from tests.limits import hang_limit
from tests.limits.hang_limit import LIMIT_S, HangLimit

pytest_plugins = ["pytester"]


def test_the_limit_is_set_once_a_minute_and_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, limits = [1000.0], []
    monkeypatch.setattr(hang_limit, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(
        faulthandler, "dump_traceback_later", lambda seconds, **options: limits.append((seconds, options))
    )
    item, limit = SimpleNamespace(config=SimpleNamespace(stash={fault_handler_stderr_fd_key: 7})), HangLimit()
    counts = []
    for seconds in (0.0, 30.0, 29.0, 1.0, 5.0):
        clock[0] += seconds
        limit.pytest_runtest_protocol(item)
        counts.append(len(limits))
    limit.pytest_exception_interact()
    limit.pytest_runtest_protocol(item)
    assert [*counts, len(limits)] == [1, 1, 1, 2, 2, 3]
    assert limits[0] == (LIMIT_S, {"file": 7, "exit": True})


@pytest.mark.long
def test_a_process_whose_test_hangs_ends_and_says_where(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(test_hangs="import time\ndef test_before(): pass\ndef test_it_hangs(): time.sleep(60)\n")
    pytester.makeconftest("from tests.limits import hang_limit\nhang_limit.LIMIT_S = hang_limit.SET_EVERY_S = 0.5\n")
    answer = pytester.runpytest_subprocess("-p", "tests.limits.hang_limit", "-p", "no:timeout", "-q", timeout=50)
    assert answer.ret == 1
    assert "in test_it_hangs" in "\n".join(answer.errlines)
