"""Releases and the privacy loss of all of them together: what is proved, and what would hold if noise were continuous.

What is proved of a sum of discrete Gaussians is zero-concentrated differential privacy with rho = 1 / (2 z^2) + tau d/4
(Kairouz et al. 2021, Theorem 1), and for rows behind secret coins a Renyi bound that follows from it. Both go through
one conversion to (epsilon, delta). What rounding and cutting may break is charged to delta.

Source: Bun and Steinke 2016; Canonne et al. 2020, Proposition 12 (the conversion).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from hekat.engine.ring.gaussian import CUT_CHANCE
from hekat.privacy.accounting.library import import_dp_accounting
from hekat.privacy.accounting.mechanism import BETA, NoisedSum, sum_error
from hekat.privacy.accounting.poisson import subsampled_rdp

Neighbours = Literal["zero-out", "replace-one"]
NEIGHBOURS: tuple[Neighbours, ...] = get_args(Neighbours)

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Release:
    """One opened sum as the accountant sees it.

    `noise` is the multiplier against the coalition in question; `sampling` the chance of a row to be in the sum by a
    secret coin, 1 where all are; `value_count`, `party_count` and `std` (of one party's noise, in levels) are what is
    charged for rounding, cutting and the sum's shape.
    """

    noise: float
    sampling: float
    value_count: int
    party_count: int
    std: float

    @classmethod
    def of(cls, one: NoisedSum, noise: float, sampling: float = 1.0) -> Release:
        """The release of a sum of `one`'s form; `noise` as in the class."""
        return cls(noise, sampling, one.value_count, one.party_count, one.std)

    @property
    def rho(self) -> float:
        """zCDP of the sum of all chosen rows, for one row zeroed."""
        if self.noise <= 0:
            return math.inf
        return 1 / (2 * self.noise**2) + sum_error(self.std, self.party_count) * self.value_count / 4

    def renyi(self, orders: Sequence[float], neighbours: Neighbours) -> FloatArray:
        """A bound on the Renyi divergence at each order; infinity where there is none.

        Replacing a row moves the sum twice as far as zeroing it. Behind coins two steps, zero and put in, are joined by
        Mironov 2017, Proposition 11 with p = q = 2.
        """
        of = np.asarray(orders, np.float64)
        if math.isinf(self.rho):
            return np.full(of.shape, math.inf)
        if self.sampling == 1.0:
            return of * self.rho * (4 if neighbours == "replace-one" else 1)
        if neighbours == "zero-out":
            return subsampled_rdp(self.rho, self.sampling, orders)
        # A bound for a whole order is all there is: other ones stay at infinity.
        first = subsampled_rdp(self.rho, self.sampling, list(2 * of))
        second = subsampled_rdp(self.rho, self.sampling, list(2 * of - 1))
        return (of - 0.5) / (of - 1) * first + second


Releases = Mapping[Release, int]
"""How often each kind of release was made."""


def count_releases(releases: Iterable[Release]) -> dict[Release, int]:
    """The releases by kind."""
    counts: dict[Release, int] = {}
    for one in releases:
        counts[one] = counts.get(one, 0) + 1
    return counts


def epsilon_of(releases: Releases, delta: float, neighbours: Neighbours = "zero-out") -> float:
    """The epsilon that all releases together are proved to keep to at `delta`; infinity where there is none.

    Args:
        releases: How often each kind of release was made.
        delta: The failure chance, above 0, below 1; what rounding and cutting may break is taken from it.
        neighbours: Whether a unit's term becomes zero, or another unit's.

    Returns:
        Epsilon, 0 without releases.

    Raises:
        InputError: dp-accounting is not installed.

    Examples:
        >>> from hekat.privacy.accounting import Release, epsilon_of
        >>> thirty = {Release(noise=4.0, sampling=1.0, value_count=1000, party_count=10, std=800.0): 30}
        >>> round(epsilon_of(thirty, 1e-5), 2)
        6.81
    """
    if not any(releases.values()):
        return 0.0
    rdp = import_dp_accounting().rdp
    orders = rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS
    loss = np.sum([count * one.renyi(orders, neighbours) for one, count in releases.items() if count], axis=0)
    finite = np.isfinite(loss)
    if not finite.any():
        return math.inf
    kept, known = np.asarray(orders)[finite], loss[finite]

    def at(left: float) -> float:
        return float(rdp.compute_epsilon(list(kept), list(known), left)[0]) if left > 0 else math.inf

    return _with_charges(releases, delta, at)


def epsilon_if_continuous(releases: Releases, delta: float, neighbours: Neighbours = "zero-out") -> float:
    """The epsilon of continuous Gaussian noise of the same size, from privacy loss distributions: not proved here.

    Args and raises as `epsilon_of`.

    Examples:
        >>> from hekat.privacy.accounting import Release, epsilon_if_continuous
        >>> thirty = {Release(noise=4.0, sampling=1.0, value_count=1000, party_count=10, std=800.0): 30}
        >>> round(epsilon_if_continuous(thirty, 1e-5), 2)
        6.33
    """
    library = import_dp_accounting()
    relations = library.NeighboringRelation
    relation = relations.REPLACE_ONE if neighbours == "replace-one" else relations.ADD_OR_REMOVE_ONE
    accountant = library.pld.pld_privacy_accountant.PLDAccountant(relation)
    for one, count in releases.items():
        if one.noise <= 0:
            return math.inf
        event = library.GaussianDpEvent(one.noise)
        if one.sampling < 1:
            event = library.PoissonSampledDpEvent(one.sampling, event)
        accountant.compose(library.SelfComposedDpEvent(event, count))
    return float(accountant.get_epsilon(delta))


def _with_charges(releases: Releases, delta: float, at: Callable[[float], float]) -> float:
    """`at` of what rounding and cutting leave of delta. Cutting costs by e^epsilon: the guess is raised until it holds.

    Noise that is cut differs from noise that is not with the chance `CUT_CHANCE` a value; on both sides of the
    definition that is at most (1 + e^epsilon) of it.
    """
    rounding = sum(count * BETA for count in releases.values())
    cut = sum(count * one.party_count * one.value_count * CUT_CHANCE for one, count in releases.items())
    guess = at(delta - rounding)
    for _ in range(64):
        if guess > 700:
            return math.inf
        found = at(delta - rounding - cut * (1 + math.exp(guess)))
        if found <= guess:
            return found
        guess = found * (1 + 1e-9)
    return math.inf
