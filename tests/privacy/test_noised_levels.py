"""Rounding by a secret dither, clip factors, secret coins, and noise that is never cut at the lane."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hekat.privacy import noised_levels as module
from hekat.privacy.accounting import fit_to_lane
from hekat.privacy.noised_levels import clip_factors, noised_levels, round_by_dither
from hekat.privacy.norm import norm_of
from hekat.privacy.secret_words import draw_coins, draw_words


def test_no_norm_passes_the_clip_and_short_vectors_stay() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((200, 30)) * rng.uniform(0.01, 10, (200, 1))
    norms = np.linalg.norm(vectors, axis=1)
    clipped = vectors * clip_factors(norms, 2.0)[:, np.newaxis]
    assert np.linalg.norm(clipped, axis=1).max() < 2.0
    short = norms < 1.999
    assert short.any()
    assert np.array_equal(clipped[short], vectors[short])
    assert clip_factors(np.array([np.nan, np.inf, 0.0]), 2.0).tolist() == [0.0, 0.0, 1.0]


def test_norms_of_broken_vectors_are_infinite() -> None:
    assert norm_of({"a": np.array([3.0]), "b": np.array([[4.0]])}) == pytest.approx(5.0)
    assert math.isinf(norm_of({"a": np.array([np.nan])}))
    assert math.isinf(norm_of({"a": np.array([1e200, 1e200])}))


@pytest.mark.parametrize("dither", [0, 1, 2**63, 2**64 - 1])
def test_rounding_is_the_floor_of_value_and_dither(dither: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "draw_words", lambda count: np.full(count, dither, np.uint64))
    values = np.array([0.0, 0.5, -0.5, 0.25, 7.0, -7.0, 0.999])
    fraction = (dither >> 34) / 2**30
    found = round_by_dither(values, 1.0, 5.0)
    assert found.tolist() == np.floor(np.clip(values, -5, 5) + fraction).astype(int).tolist()


def test_two_vectors_under_one_dither_differ_by_a_rounding_of_their_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lemma that the sensitivity rests on: floor or ceiling of the row's own value, whatever else is in the sum."""
    words = draw_words(1000)
    monkeypatch.setattr(module, "draw_words", lambda count: words[:count])
    rng = np.random.default_rng(2)
    rest, row = 300 * rng.standard_normal(1000), rng.standard_normal(1000)
    moved = round_by_dither(rest + row, 1.0, 1e6) - round_by_dither(rest, 1.0, 1e6)
    assert np.all(np.abs(moved - row) < 1 + 1e-6)


def test_rounding_is_right_on_average() -> None:
    """Of 40,000 values of 0.3 levels, 12,000 are rounded up: beyond 6.5 standard deviations once in 10^10."""
    found = round_by_dither(np.full(40_000, 0.3), 1.0, 5.0)
    assert set(found.tolist()) == {0, 1}
    assert abs(found.sum() - 12_000) < 6.5 * math.sqrt(40_000 * 0.3 * 0.7)


def test_noise_goes_on_top_of_what_was_cut_and_is_not_cut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = fit_to_lane(clip=1.0, alpha=1.0, value_count=4, noise=1.0, honest=2, party_count=3, lane_bits=12)
    monkeypatch.setattr(module, "draw_noise", lambda law, shape: np.full(shape, law.limit))
    levels = noised_levels(np.array([9.0, 1.0, -9.0, 0.0]), mechanism)
    assert levels.max() > mechanism.coordinate_bound
    assert levels.max() >= math.floor(mechanism.alpha / mechanism.granularity) + mechanism.law.limit
    assert levels.max() <= 2**11 - 1


def test_two_draws_for_one_vector_differ() -> None:
    mechanism = fit_to_lane(clip=1.0, alpha=1.0, value_count=50, noise=1.0, honest=2, party_count=3, lane_bits=16)
    first, second = (noised_levels(np.zeros(50), mechanism) for _ in range(2))
    assert not np.array_equal(first, second)
    assert np.abs(first).max() <= mechanism.law.limit + 1


def test_coins_fall_with_their_chance_and_never_the_same_twice() -> None:
    """Of 40,000 coins of 0.2, 8,000 are true: beyond 6.5 standard deviations once in 10^10."""
    coins = draw_coins(40_000, 0.2)
    assert abs(int(coins.sum()) - 8_000) < 6.5 * math.sqrt(40_000 * 0.2 * 0.8)
    assert not np.array_equal(coins, draw_coins(40_000, 0.2))
    assert not draw_coins(1000, 0.0).any()
    assert len(np.unique(draw_words(1000))) == 1000
