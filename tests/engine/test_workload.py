"""Workload: what was counted, who is free first, and shares that follow measured speeds, by the test's own clock."""

from __future__ import annotations

import pytest

from hekat.engine.workload import (
    LEAST_LOADED,
    LEAST_SHARE,
    MEMORY_SECONDS,
    ROUND_ROBIN,
    EngineLoad,
    Workload,
    choose_policy,
)
from hekat.errors import EngineError


def observed(workload, items, seconds, kind="power"):
    workload.observe(kind, dict(enumerate(items)), dict(enumerate(seconds)))


def test_work_is_counted():
    now = [0.0]
    workload = Workload(["cpu", "cuda:0"], lambda: now[0])
    workload.give(1, 30)
    workload.give(1, 12)
    with workload.work(1, 30):
        assert workload.loads()[1].waiting == 42
        now[0] = 2.5
    workload.withdraw(1, 2)
    assert workload.loads() == (EngineLoad("cpu", 0, 0, 0.0, 0), EngineLoad("cuda:0", 1, 30, 2.5, 10))
    assert str(workload.loads()[1]) == "1 chunks of 30 items in 2.50 s, 10 items waiting"


def test_a_chunk_that_fails_is_no_item_done():
    now = [0.0]
    workload = Workload(["cpu"], lambda: now[0])
    workload.give(0, 5)

    def fail():
        with workload.work(0, 5):
            now[0] = 1.0
            raise EngineError("broken")

    with pytest.raises(EngineError, match="broken"):
        fail()
    assert workload.loads() == (EngineLoad("cpu", 0, 0, 1.0, 0),)


def test_shares_are_equal_until_an_operation_was_seen_twice():
    workload = Workload(["a", "b"])
    assert workload.shares == (0.5, 0.5)
    observed(workload, [10, 10], [1.0, 100.0])
    assert workload.shares == (0.5, 0.5)
    observed(workload, [10, 30], [1.0, 1.0])
    assert workload.shares == pytest.approx((0.25, 0.75))


def test_an_operation_counts_by_its_seconds_and_old_ones_fade():
    workload = Workload(["a", "b"])
    for kind in ("power", "product"):
        observed(workload, [1, 1], [1.0, 1.0], kind)
    observed(workload, [10, 30], [1.0, 1.0])
    observed(workload, [30, 10], [3.0, 3.0], "product")
    # (0.25 * 2 s + 0.75 * 6 s) / 8 s
    assert workload.shares[0] == pytest.approx(0.625)
    observed(workload, [90, 10], [MEMORY_SECONDS * 10] * 2)
    assert workload.shares[0] > 0.88


def test_small_changes_leave_the_shares_as_they_are():
    workload = Workload(["a", "b"])
    observed(workload, [1, 1], [1.0, 1.0])
    observed(workload, [53, 47], [1.0, 1.0])
    assert workload.shares == (0.5, 0.5)


def test_no_engine_is_left_without_work():
    workload = Workload(["a", "b"])
    for _ in range(2):
        observed(workload, [1, 10**6], [1.0, 1.0])
    assert workload.shares[0] == pytest.approx(LEAST_SHARE, rel=0.02)
    assert sum(workload.shares) == pytest.approx(1)


@pytest.mark.parametrize("seconds", [{0: 1.0}, {0: 1.0, 1: 0.0}])
def test_only_operations_on_all_engines_are_measured(seconds):
    workload = Workload(["a", "b"])
    for _ in range(3):
        workload.observe("power", {0: 90, 1: 10}, seconds)
    assert workload.shares == (0.5, 0.5)


def test_the_first_free_engine_is_the_one_with_the_least_to_do_at_its_speed():
    workload = Workload(["a", "b"])
    assert workload.first_free([0, 1]) == 0
    workload.give(0, 3)
    assert workload.first_free([0, 1]) == 1
    workload.give(1, 4)
    assert workload.first_free([0, 1]) == 0
    for _ in range(2):
        observed(workload, [10, 30], [1.0, 1.0])
    assert workload.first_free([0, 1]) == 1
    assert workload.first_free([0]) == 0


@pytest.mark.parametrize(
    ("variable", "asked", "expected"),
    [
        (None, None, (LEAST_LOADED, "the default")),
        ("  ", None, (LEAST_LOADED, "the default")),
        ("round_robin", None, (ROUND_ROBIN, "HEKAT_SCHEDULE=round_robin")),
        ("round_robin", LEAST_LOADED, (LEAST_LOADED, "asked for")),
    ],
)
def test_the_policy_and_why(monkeypatch, variable, asked, expected):
    monkeypatch.delenv("HEKAT_SCHEDULE", raising=False)
    if variable is not None:
        monkeypatch.setenv("HEKAT_SCHEDULE", variable)
    assert choose_policy(asked) == expected


def test_another_policy_is_refused(monkeypatch):
    with pytest.raises(EngineError, match="the schedule names no way to give out work; expected least_loaded or"):
        choose_policy("random")
    monkeypatch.setenv("HEKAT_SCHEDULE", "Round_Robin")
    with pytest.raises(EngineError, match=r"HEKAT_SCHEDULE names no way to give out work.*got 'Round_Robin'"):
        choose_policy()
