"""Loads: what was counted, who is free first, and shares that follow measured speeds, by a clock of the test's own."""

from __future__ import annotations

import pytest

from hekat.engine.loads import (
    LEAST_LOADED,
    LEAST_SHARE,
    MEMORY_SECONDS,
    ROUND_ROBIN,
    EngineLoad,
    Loads,
    choose_policy,
)
from hekat.errors import EngineError


def observed(loads, items, seconds, kind="power"):
    loads.observe(kind, dict(enumerate(items)), dict(enumerate(seconds)))


def test_work_is_counted():
    now = [0.0]
    loads = Loads(["cpu", "cuda:0"], lambda: now[0])
    loads.give(1, 30)
    loads.give(1, 12)
    with loads.work(1, 30):
        assert loads.loads()[1].waiting == 42
        now[0] = 2.5
    loads.withdraw(1, 2)
    assert loads.loads() == (EngineLoad("cpu", 0, 0, 0.0, 0), EngineLoad("cuda:0", 1, 30, 2.5, 10))
    assert str(loads.loads()[1]) == "1 chunks of 30 items in 2.50 s, 10 items waiting"


def test_a_chunk_that_fails_is_no_item_done():
    now = [0.0]
    loads = Loads(["cpu"], lambda: now[0])
    loads.give(0, 5)

    def fail():
        with loads.work(0, 5):
            now[0] = 1.0
            raise EngineError("broken")

    with pytest.raises(EngineError, match="broken"):
        fail()
    assert loads.loads() == (EngineLoad("cpu", 0, 0, 1.0, 0),)


def test_shares_are_equal_until_an_operation_was_seen_twice():
    loads = Loads(["a", "b"])
    assert loads.shares == (0.5, 0.5)
    observed(loads, [10, 10], [1.0, 100.0])
    assert loads.shares == (0.5, 0.5)
    observed(loads, [10, 30], [1.0, 1.0])
    assert loads.shares == pytest.approx((0.25, 0.75))


def test_an_operation_counts_by_its_seconds_and_old_ones_fade():
    loads = Loads(["a", "b"])
    for kind in ("power", "product"):
        observed(loads, [1, 1], [1.0, 1.0], kind)
    observed(loads, [10, 30], [1.0, 1.0])
    observed(loads, [30, 10], [3.0, 3.0], "product")
    # (0.25 * 2 s + 0.75 * 6 s) / 8 s
    assert loads.shares[0] == pytest.approx(0.625)
    observed(loads, [90, 10], [MEMORY_SECONDS * 10] * 2)
    assert loads.shares[0] > 0.88


def test_small_changes_leave_the_shares_as_they_are():
    loads = Loads(["a", "b"])
    observed(loads, [1, 1], [1.0, 1.0])
    observed(loads, [53, 47], [1.0, 1.0])
    assert loads.shares == (0.5, 0.5)


def test_no_engine_is_left_without_work():
    loads = Loads(["a", "b"])
    for _ in range(2):
        observed(loads, [1, 10**6], [1.0, 1.0])
    assert loads.shares[0] == pytest.approx(LEAST_SHARE, rel=0.02)
    assert sum(loads.shares) == pytest.approx(1)


@pytest.mark.parametrize("seconds", [{0: 1.0}, {0: 1.0, 1: 0.0}])
def test_only_operations_on_all_engines_are_measured(seconds):
    loads = Loads(["a", "b"])
    for _ in range(3):
        loads.observe("power", {0: 90, 1: 10}, seconds)
    assert loads.shares == (0.5, 0.5)


def test_the_first_free_engine_is_the_one_with_the_least_to_do_at_its_speed():
    loads = Loads(["a", "b"])
    assert loads.first_free([0, 1]) == 0
    loads.give(0, 3)
    assert loads.first_free([0, 1]) == 1
    loads.give(1, 4)
    assert loads.first_free([0, 1]) == 0
    for _ in range(2):
        observed(loads, [10, 30], [1.0, 1.0])
    assert loads.first_free([0, 1]) == 1
    assert loads.first_free([0]) == 0


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
