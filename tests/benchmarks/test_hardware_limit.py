"""The count of multiply-adds against figures worked out by hand, and how a comparison is timed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from hekat import _native

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def test_words_leave_four_spare_bits(load: Any) -> None:
    limit = load("measuring.hardware_limit")
    assert [limit.words(bits) for bits in (48, 49, 1024, 2048, 2076, 2077, 3072)] == [1, 2, 20, 40, 40, 41, 60]


def test_products_modulo_a_square_of_2048_bits(load: Any) -> None:
    ring = load("measuring.hardware_limit").squared_modulus(2048)
    # 5 x 40^2 products of words, two instructions each, for eight residues at once; squares 3.5 x 40^2.
    assert ring.work(1).madds == 2000
    assert ring.work(0, 1).madds == 1400
    assert load("measuring.hardware_limit").any_modulus(2048).work(1).madds == 800


def test_a_fixed_base_power_joins_one_entry_a_position(load: Any) -> None:
    ring = load("measuring.hardware_limit").squared_modulus(2048)
    # By factors: 4 x 40^2 products of words for each, and at last two products mod n, 4 x 40^2.
    assert ring.fixed_base(128).word_products == (127 * 4 + 4) * 1600
    assert load("measuring.hardware_limit").any_modulus(2048).fixed_base(128).word_products == 127 * 2 * 1600


@pytest.mark.parametrize("bits", [1, 2, 5, 64, 1024, 3072])
def test_a_power_has_the_cheapest_window(load: Any, bits: int) -> None:
    ring = load("measuring.hardware_limit").any_modulus(1024)
    costs = []
    for window in range(1, 9):
        digits = -(-bits // window)
        costs.append((digits - 1 + 2**window - 2) * ring.product + window * (digits - 1) * ring.square)
    assert ring.power(bits).word_products == min(costs)


def test_products_of_powers_share_squares(load: Any) -> None:
    ring = load("measuring.hardware_limit").squared_modulus(2048)
    # Three signed digits of eight bits: 128 buckets, each joined twice, over 1000 terms; 23 squares for all.
    assert ring.multi_power(23, 1000, 50).word_products == pytest.approx(3 * (1 + 256 / 1000) * 8000 + 23 / 1000 * 5600)
    # For one result of few terms tables and buckets are not worth their making: one product a bit at most.
    assert ring.multi_power(23, 1, 1).word_products <= 24 * 8000 + 23 * 5600


def test_work_adds_up(load: Any) -> None:
    limit = load("measuring.hardware_limit")
    ring = limit.squared_modulus(2048)
    whole = ring.work(3) + limit.message_factor(2048)
    assert whole.word_products == 3 * 8000 + 4 * 1600
    # Halves of 20 words: twice 5 x 20^2 and 4 x 20^2, and 6 x 40^2 for the reduction.
    assert limit.joined_halves(2048).word_products == 2 * 9 * 400 + 6 * 1600
    assert ring.work(3).times(2).madds == ring.work(6).madds


def test_the_rate_is_measured_where_the_processor_has_the_instruction() -> None:
    assert (_native.madd52_per_ns() > 0) == (not _native.lacks_for("ifma"))


def test_a_comparison_is_in_turns_and_in_items(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison, limit = load("measuring.comparison"), load("measuring.hardware_limit")
    clock = iter(range(1000))
    monkeypatch.setattr(comparison.time, "process_time", lambda: float(next(clock)))
    monkeypatch.setattr(comparison._native, "madd52_per_ns", lambda: 2.0, raising=False)
    calls: list[str] = []
    row = comparison.beside_peers(
        comparison.Call(4, lambda: calls.append("ours")),
        {"gmpy2": comparison.Call(1, lambda: calls.append("gmpy2"))},
        limit.Work(1e9, "stated"),
        repeats=2,
    )
    assert calls == ["ours", "gmpy2"] * 3  # the first turn is not counted
    # Each call takes one second by this clock: four items of ours, one of the peer's.
    assert (row["us"], row["per_s"], row["gmpy2_per_s"], row["times_gmpy2"]) == (250_000, 4, 1, 4)
    assert row["of_limit"] == pytest.approx(0.25e9 / (250_000 * 1e3 * 2))
    assert row["work"] == "stated"
