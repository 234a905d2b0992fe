"""The verdict on a series of training losses."""

from __future__ import annotations

import math

import pytest

from hekat.protocol.loss_verdict import judge_losses

LOG_2 = math.log(2)


@pytest.mark.parametrize(
    ("losses", "untrained", "course"),
    [
        ([], None, "too short"),
        ([], LOG_2, "too short"),
        ([0.5], None, "too short"),
        ([0.6], LOG_2, "too short"),
        ([0.8], LOG_2, "rising"),
        ([1e9], LOG_2, "diverged"),
        ([math.inf], None, "diverged"),
        ([0.5, math.nan, 0.4], None, "diverged"),
        ([0.7, 3.5e8, 2.9e8], None, "diverged"),
        # Lost within the first step already: the series falls, and yet no model is there.
        ([3e8, 2e8, 1e8], None, "falling"),
        ([3e8, 2e8, 1e8], LOG_2, "diverged"),
        ([0.5, 0.9], None, "rising"),
        ([0.5, 1.0], None, "diverged"),
        ([0.7, 0.3, 0.34], None, "rising"),
        ([0.7, 0.3, 0.32], None, "settled"),
        ([0.5, 0.4999], None, "settled"),
        ([0.5, 0.5], None, "settled"),
        ([0.0, 0.0], None, "settled"),
        ([0.5, 0.45], None, "falling"),
        # Each step lowers the loss by 0.4 %, the last five of twenty by 2 %.
        ([0.6 * 0.996**step for step in range(20)], None, "falling"),
        ([0.4 + 0.3 * 0.5**step for step in range(20)], None, "settled"),
        # A loss may lie below 0, with a penalty that rewards: nothing is divided by it.
        ([-0.1, -0.2], None, "settled"),
    ],
)
def test_the_course_of_losses(losses, untrained, course) -> None:
    assert judge_losses(losses, untrained=untrained).course == course


@pytest.mark.parametrize(
    ("losses", "course"),
    [
        ([0.0332, 0.5284], "hidden by noise"),
        ([0.6, 0.7, -0.1, 0.2], "hidden by noise"),
        ([-0.3, 0.1], "hidden by noise"),
        # A difference has sqrt(2) times the standard deviation of 0.1, and five of these are 0.707.
        ([0.9, 0.2], "hidden by noise"),
        ([0.9, 0.19], "falling"),
        ([0.2, 0.9], "hidden by noise"),
        ([0.2, 0.912], "rising"),
        ([0.2, 4.0], "rising"),
        ([0.2, math.inf], "diverged"),
        ([0.5], "too short"),
    ],
)
def test_of_noised_losses_only_what_is_no_noise_counts(losses, course) -> None:
    assert judge_losses(losses, noise_std=0.1).course == course


def test_losses_whose_noise_is_below_the_least_fall_settle() -> None:
    assert judge_losses([0.7, 0.5, 0.499], noise_std=0.0007).course == "settled"
    assert judge_losses([0.7, 0.5, 0.499], noise_std=0.0008).course == "hidden by noise"
    assert judge_losses([3.0, -0.1], noise_std=0.1).fall == 1.0, "no loss falls by more than all of it"
    assert judge_losses([0.9], untrained=LOG_2, noise_std=0.1).course == "too short"
    assert judge_losses([1.5], untrained=LOG_2, noise_std=0.1).course == "rising"


def test_what_the_verdict_says_of_the_losses() -> None:
    found = judge_losses([0.8, 0.5, 0.4, 0.3, 0.25, 0.24, 0.22, 0.2])
    assert (found.start, found.best, found.last, found.recent) == (0.8, 0.2, 0.2, 2)
    assert found.fall == pytest.approx(1 - 0.2 / 0.24)


def test_the_loss_of_an_untrained_model_is_the_beginning_where_it_is_lower() -> None:
    assert judge_losses([3.0, 0.5], untrained=LOG_2).start == LOG_2
    assert judge_losses([0.6, 0.5], untrained=LOG_2).start == 0.6


@pytest.mark.parametrize(
    ("held", "course"),
    [([], "settled"), ([True], "clipped"), ([False, True], "clipped"), ([True, False], "settled")],
)
def test_losses_that_clipping_kept_flat_are_not_settled(held, course) -> None:
    assert judge_losses([0.5, 0.5], held=held).course == course
    assert judge_losses([0.5, 0.4], held=held).course == "falling", "which more rounds go on with"
    assert judge_losses([0.5, *[0.4] * 7], held=[False, True, True]).course == "clipped", "the last two of eight"
