"""Epsilon of many releases: the library's numbers, what rounding and cutting cost, and coins for rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.privacy.accounting import Release, count_releases, epsilon_if_continuous, epsilon_of, noise_for
from hekat.privacy.accounting.poisson import subsampled_rdp

dp_accounting = pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")


def _release(noise: float, sampling: float = 1.0, *, value_count: int = 1000, std: float = 800.0) -> Release:
    return Release(noise, sampling, value_count, 10, std)


@pytest.mark.parametrize(
    ("noise", "rounds", "proved", "continuous"), [(4, 30, 6.81, 6.33), (10, 100, 4.73, 4.38), (20, 100, 2.17, 1.99)]
)
def test_figures_of_the_design(noise: float, rounds: int, proved: float, continuous: float) -> None:
    releases = {_release(noise): rounds}
    assert epsilon_of(releases, 1e-5) == pytest.approx(proved, abs=5e-3)
    assert epsilon_if_continuous(releases, 1e-5) == pytest.approx(continuous, abs=5e-3)


def test_the_number_is_the_librarys_own_for_zcdp() -> None:
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(dp_accounting.dp_event.ZCDpEvent(rho=30 / (2 * 16), xi=0))
    theirs = accountant.get_epsilon(1e-5)
    ours = epsilon_of({_release(4.0): 30}, 1e-5)
    assert theirs <= ours <= theirs + 1e-4  # rounding is charged


@pytest.mark.long
def test_replacing_a_row_costs_as_half_the_noise() -> None:
    assert epsilon_of({_release(4.0): 30}, 1e-5, "replace-one") == pytest.approx(
        epsilon_of({_release(2.0): 30}, 1e-5), rel=1e-6
    )
    assert epsilon_if_continuous({_release(4.0): 3}, 1e-5, "replace-one") == pytest.approx(
        epsilon_if_continuous({_release(2.0): 3}, 1e-5), rel=1e-6
    )


def test_releases_of_several_kinds_add_up() -> None:
    both = count_releases([_release(4.0), _release(4.0), _release(8.0)])
    assert both == {_release(4.0): 2, _release(8.0): 1}
    equal = 1 / math.sqrt(2 / 16 + 1 / 64)
    assert epsilon_of(both, 1e-5) == pytest.approx(epsilon_of({_release(equal): 1}, 1e-5), rel=1e-3)


def test_delta_that_rounding_uses_up_leaves_no_epsilon() -> None:
    assert epsilon_of({_release(4.0): 10}, 1.1e-11) < math.inf
    assert math.isinf(epsilon_of({_release(4.0): 12}, 1.1e-11))


def test_cut_noise_costs_more_the_larger_epsilon_is() -> None:
    """e^epsilon times 1.6e-23 times values: 10^9 of them at epsilon near 21 use up delta, at epsilon near 2 they do
    not."""
    many = 10**9
    assert epsilon_of({_release(4.0, value_count=many): 1}, 1e-5) == pytest.approx(
        epsilon_of({_release(4.0): 1}, 1e-5), rel=1e-3
    )
    assert math.isinf(epsilon_of({_release(0.3, value_count=many): 1}, 1e-5))
    assert epsilon_of({_release(0.3): 1}, 1e-5) < 30


def test_the_shape_of_the_sum_is_charged() -> None:
    """tau at s = 1 is no longer small: it has to show."""
    assert epsilon_of({_release(4.0, std=1.0): 1}, 1e-5) > 1.01 * epsilon_of({_release(4.0): 1}, 1e-5)


def test_without_releases_nothing_is_lost_and_without_noise_all_is() -> None:
    assert epsilon_of({}, 1e-5) == 0
    assert math.isinf(epsilon_of({_release(0.0): 1}, 1e-5))


@pytest.mark.parametrize("sampling", [0.001, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("noise", [0.8, 1.1, 4.0])
def test_the_bound_for_coins_is_the_librarys_for_the_continuous_gaussian(sampling: float, noise: float) -> None:
    """At whole orders, and never above the loss of taking all rows."""
    event = dp_accounting.PoissonSampledDpEvent(sampling, dp_accounting.GaussianDpEvent(noise))
    for order in (2, 3, 8, 32):
        (found,) = subsampled_rdp(1 / (2 * noise**2), sampling, [order])
        theirs = dp_accounting.rdp.RdpAccountant(orders=[order])
        theirs.compose(event)
        assert found == pytest.approx(float(theirs._rdp[0]), rel=1e-6)
        assert found <= order / (2 * noise**2)


@pytest.mark.parametrize("shift", [1, 3, 8])
@pytest.mark.parametrize("sampling", [0.02, 0.5, 0.97])
def test_the_bound_for_coins_holds_both_ways_for_a_sum_of_discrete_gaussians(shift: int, sampling: float) -> None:
    """The law of two parties' noise of s = 4, by its definition, moved by a row: the divergence of what others see from
    the law without the row, and back."""
    reach, std = 400, 4.0
    places = np.arange(-reach, reach + 1)
    one = np.exp(-(places**2) / (2 * std**2))
    both = np.convolve(one / one.sum(), one / one.sum(), "same")
    without, moved = both, np.roll(both, shift)
    seen = (1 - sampling) * without + sampling * moved
    kept = np.abs(places) < 120
    seen, without = np.log(seen[kept]), np.log(without[kept])
    rho = shift**2 / (2 * 2 * std**2) + 1e-9
    orders = [2, 3, 5]
    for order, bound in zip(orders, subsampled_rdp(rho, sampling, orders), strict=True):
        there = np.logaddexp.reduce(order * seen + (1 - order) * without) / (order - 1)
        back = np.logaddexp.reduce(order * without + (1 - order) * seen) / (order - 1)
        assert back <= there * (1 + 1e-9) + 1e-12
        assert there <= bound * (1 + 1e-9) + 1e-12


def test_coins_bring_what_is_proved_of_the_continuous_gaussian_and_a_little_less_than_is_known_of_it() -> None:
    """The design's case: z 1.1, q 0.1, 100 rounds: 5.9 by loss distributions, 79 without coins."""
    sampled, all_rows = {_release(1.1, 0.1): 100}, {_release(1.1): 100}
    assert epsilon_if_continuous(sampled, 1e-5) == pytest.approx(5.91, abs=1e-2)
    assert 5.91 < epsilon_of(sampled, 1e-5) < 6.8 < 79 < epsilon_of(all_rows, 1e-5)
    assert epsilon_of(sampled, 1e-5) < epsilon_of(sampled, 1e-5, "replace-one") < 20


@pytest.mark.parametrize("sampling", [1.0, 0.02])
def test_the_noise_for_a_wanted_epsilon_keeps_to_it_and_hardly_less_does_not(sampling: float) -> None:
    noise = noise_for(3.0, delta=1e-6, rounds=50, sampling=sampling)
    assert epsilon_of({_release(noise, sampling): 50}, 1e-6) <= 3.0
    assert epsilon_of({_release(noise * 0.998, sampling): 50}, 1e-6) > 3.0


def test_an_epsilon_that_no_noise_reaches_is_refused() -> None:
    with pytest.raises(InputError, match="no noise keeps"):
        noise_for(1.0, delta=1e-12, rounds=2)
