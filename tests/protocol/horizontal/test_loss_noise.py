"""The deviation of a noised loss is the one that simulated rounds have, and is found without a look at a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.protocol.horizontal.privacy_settings import PrivacyPlan, PrivacySettings, plan_privacy
from hekat.protocol.loss_verdict import NOISE_STDS, judge_losses

SEED, ROUNDS, PARTIES = 20261128, 4000, 5
SAMPLING, DIVISOR, BOUND = 0.05, 75, 4.0
PER_LOSS = (1 - SAMPLING) * BOUND / DIVISOR


def _plan(divisor: int = DIVISOR, **changes: Any) -> PrivacyPlan:
    claim: dict[str, Any] = {"clip": 1.0, "delta": 1e-5, "noise": 0.2, "loss_bound": BOUND, "divisor": divisor}
    coins = {"batches": "poisson-secret", "sampling": SAMPLING}
    privacy = PrivacySettings(unit="row", **{**claim, **coins, **changes})
    return plan_privacy(privacy, value_count=25, least_parties=3, party_count=PARTIES, rounds=10, lane_bits=24)


def _play(plan: PrivacyPlan, losses: Any) -> Any:
    """The released losses of many rounds on rows with these losses, as parties make and read them."""
    draws = np.random.default_rng(SEED)
    unit = plan.loss_unit * plan.mechanism.granularity
    levels = np.zeros(ROUNDS)
    for rows in np.array_split(losses, PARTIES):
        chosen = (draws.random((ROUNDS, len(rows)), dtype=np.float32) < plan.settings.sampling) @ rows
        rounded = np.floor(chosen / unit + draws.random((ROUNDS, 1))[:, 0])
        levels += rounded + np.rint(draws.normal(0, plan.mechanism.std, ROUNDS))
    return levels * unit / plan.divisor


def _extreme_losses(mean: float) -> Any:
    """Losses of 0 and L alone, for the rows that the divisor stands for."""
    count = round(DIVISOR / SAMPLING)
    return np.where(np.random.default_rng(SEED).permutation(count) < count * mean / BOUND, BOUND, 0.0)


def test_noise_alone_is_what_rounds_show() -> None:
    plan = _plan(batches="all", sampling=1.0)
    played = _play(plan, np.full(DIVISOR, 0.5))
    assert plan.loss_std([0.5]) == plan.loss_std([3.0]) == plan.loss_std() == pytest.approx(played.std(), rel=0.05)


@pytest.mark.parametrize("mean", [0.25, 1.0, 3.0])
def test_coins_move_losses_of_0_and_the_bound_by_all_that_is_stated(mean: float) -> None:
    """s^2 less its room for a loss below its mean, a k s, is the variance."""
    plan = _plan()
    played, stated = _play(plan, _extreme_losses(mean)), plan.loss_std([mean])
    assert played.mean() == pytest.approx(mean, abs=5 * stated / np.sqrt(ROUNDS))
    assert stated**2 - PER_LOSS * NOISE_STDS * stated == pytest.approx(played.var(), rel=0.1)


def test_every_released_loss_states_no_less_than_the_deviation_that_it_has() -> None:
    plan = _plan()
    released = _play(plan, _extreme_losses(0.5))
    stated = np.array([plan.loss_std([loss]) for loss in released])
    assert released.min() < 0.2
    assert stated.min() > released.std()
    assert np.median(stated) < 2 * released.std() < plan.loss_std()


def test_losses_between_move_less() -> None:
    plan = _plan()
    losses = np.random.default_rng(SEED).gamma(2.0, 0.25, round(DIVISOR / SAMPLING)).clip(0, BOUND)
    assert _play(plan, losses).std() < plan.loss_std([losses.mean()])


def test_the_highest_of_the_losses_counts_from_0_and_the_bound_before_any() -> None:
    plan = _plan()
    assert plan.loss_std([0.2, 0.7, 0.1]) == plan.loss_std([0.7]) > plan.loss_std([0.2])
    assert plan.loss_std([-0.5]) == plan.loss_std([0.0])
    noise = _plan(batches="all", sampling=1.0).loss_std() ** 2
    assert plan.loss_std() ** 2 == pytest.approx(noise + PER_LOSS * BOUND)


def test_a_fall_on_many_rows_is_told() -> None:
    """60,000 of them: as if all losses were at the bound, the coins would hide it."""
    plan, losses = _plan(3000, noise=1.0), [0.6931, 0.6, 0.35]
    assert judge_losses(losses, noise_std=plan.loss_std(losses)).course == "falling"
    assert judge_losses(losses, noise_std=plan.loss_std()).course == "hidden by noise"
