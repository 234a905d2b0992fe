"""The distributed discrete Gaussian of one sum: sensitivity with randomised rounding, noise a party, room in the lanes.

| symbol | here |
|---|---|
| C | `clip`: the largest L2 norm of one unit's term, in the update's units |
| c | `levels`: C in levels of the lanes; gamma = C / c is one level |
| d | `value_count`: values of the vector |
| D2 | `sensitivity`: the largest L2 norm by which one unit moves the sum of levels |
| z | `noise`: the multiplier that the claim rests on |
| h | `honest`: parties of every opened sum whose noise counts, u_min - t_c |
| s | `std`: standard deviation of one party's noise, in levels |

Source: Kairouz et al. 2021 (The distributed discrete Gaussian mechanism), sections 3 and 4, without rotation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from hekat.engine.ring.gaussian import CUT, DiscreteGaussian
from hekat.errors import InputError

BETA = 1e-12
"""The chance, charged to delta in every round, that rounding moves the sum by more than `sensitivity`."""
LEAST_STD = 4.0
"""Below it a sum of discrete Gaussians is too far from one."""
MOST_EXCESS = 1.25
"""More noise than this times the noise without rounding is refused: a wider lane costs less."""
MOST_LANE_BITS = 32


def sensitivity_of(levels: int, value_count: int) -> float:
    """D2, in levels, with chance 1 - BETA over the dither that all of a party's values share.

    Two sums that differ by one unit, under one dither, differ by a randomised rounding of that unit's own vector.

    Args:
        levels: c, the clip in levels, at least 1.
        value_count: d, the values of the vector, at least 1.

    Returns:
        min(sqrt(c^2 + d/4 + sqrt(2 ln 1/beta) (c + sqrt(d)/2)), c + sqrt(d)).

    Examples:
        >>> from hekat.privacy.accounting.mechanism import sensitivity_of
        >>> round(sensitivity_of(1042, 88_648) / 1042, 3)
        1.014
    """
    root = math.sqrt(value_count)
    rounded = levels**2 + value_count / 4 + math.sqrt(2 * math.log(1 / BETA)) * (levels + root / 2)
    return min(math.sqrt(rounded), levels + root)


def usual_colluders(least_parties: int) -> int:
    """t_c, the parties together that a claim is against, where nobody says it: all but two of the fewest in a sum."""
    return max(1, least_parties - 2)


def sum_error(std: float, party_count: int) -> float:
    """tau: how far a sum of so many discrete Gaussians of `std` is from one, per value."""
    most = max(party_count - 1, 1)
    # Later terms are within e^-19 s^2 of the last ones of 64: their number stands for all of them.
    near = sum(math.exp(-2 * math.pi**2 * std**2 * k / (k + 1)) for k in range(1, min(most, 64) + 1))
    return 10 * (near + max(most - 64, 0) * math.exp(-2 * math.pi**2 * std**2 * 64 / 65))


@dataclass(frozen=True)
class NoisedSum:
    """The mechanism of one sum; made by `fit_to_lane`. `alpha` bounds each coordinate of a party's vector."""

    clip: float
    alpha: float
    value_count: int
    levels: int
    noise: float
    honest: int
    party_count: int
    lane_bits: int

    @property
    def granularity(self) -> float:
        """gamma: one level in the update's units."""
        return self.clip / self.levels

    @cached_property
    def sensitivity(self) -> float:
        """D2, in levels."""
        return sensitivity_of(self.levels, self.value_count)

    @cached_property
    def std(self) -> float:
        """s, in levels."""
        return self.noise * self.sensitivity / math.sqrt(self.honest)

    @property
    def noise_limit(self) -> int:
        """No number of the law is larger; the little more is for the variance, which the law rounds up."""
        return math.floor(CUT * self.std * (1 + 1e-9))

    @property
    def law(self) -> DiscreteGaussian:
        """What one party's noise is drawn from, in levels: its variance is s^2, rounded up."""
        return DiscreteGaussian.of_at_least(Fraction(self.std) ** 2)

    @property
    def coordinate_bound(self) -> int:
        """The largest magnitude of one rounded value before noise, in levels."""
        return math.floor(self.alpha / self.granularity) + 1

    @property
    def excess(self) -> float:
        """How much more noise the sum bears than without rounding, as a factor."""
        return self.sensitivity / self.levels

    @property
    def error(self) -> float:
        """tau of the sum of all parties' noise."""
        return sum_error(self.std, self.party_count)

    def noise_against(self, colluders: int, least_parties: int) -> float:
        """The multiplier that a coalition of so many parties, which know their own noise, faces in the smallest sum."""
        others = max(0, least_parties - colluders)
        return self.std * math.sqrt(others) / self.sensitivity


def fit_to_lane(
    *,
    clip: float,
    alpha: float,
    value_count: int,
    noise: float,
    honest: int,
    party_count: int,
    lane_bits: int,
) -> NoisedSum:
    """The finest levels whose values and noise fit a lane: alpha / gamma + 1 + 10 s <= 2^(lane_bits - 1) - 1.

    Value plus noise is never clipped at the lane: that would be no post-processing of the noised sum.

    Args:
        clip: C, above 0.
        alpha: The bound of a coordinate of a party's vector, above 0.
        value_count: d, at least 1.
        noise: z, above 0.
        honest: h, at least 1.
        party_count: The parties of the largest sum.
        lane_bits: b, 2 to 32.

    Raises:
        InputError: The lane cannot hold the noise; the error names the bits that can.

    Examples:
        >>> from hekat.privacy.accounting.mechanism import fit_to_lane
        >>> fitted = fit_to_lane(clip=1.0, alpha=1.0, value_count=25, noise=1.0, honest=2, party_count=3, lane_bits=12)
        >>> fitted.levels
        250
        >>> fitted.coordinate_bound + fitted.noise_limit < 2**11
        True
    """

    def fitted(bits: int) -> NoisedSum | None:
        return _finest(clip, alpha, value_count, noise, honest, party_count, bits)

    found = fitted(lane_bits)
    if found is not None:
        return found
    enough = next((bits for bits in range(lane_bits + 1, MOST_LANE_BITS + 1) if fitted(bits) is not None), None)
    raise InputError(
        f"lanes of {lane_bits} bits cannot hold the noise",
        expected=f"room for a value, one level and {CUT} standard deviations of a party's noise, at no more than "
        f"{MOST_EXCESS} times the noise that no rounding would need",
        got=f"{value_count:,} values, noise {noise:.4g} shared by {honest} honest parties",
        cure="lower privacy.noise or privacy.alpha, or train fewer values (model.parameters)"
        if enough is None
        else f"set codec.value_bits = {enough}",
    )


def _finest(
    clip: float, alpha: float, value_count: int, noise: float, honest: int, party_count: int, lane_bits: int
) -> NoisedSum | None:
    most = (1 << (lane_bits - 1)) - 1

    def with_levels(levels: int) -> NoisedSum:
        return NoisedSum(clip, alpha, value_count, levels, noise, honest, party_count, lane_bits)

    def fits(levels: int) -> bool:
        one = with_levels(levels)
        return one.coordinate_bound + one.noise_limit <= most

    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    if low < 1:
        return None
    best = with_levels(low)
    return best if best.std >= LEAST_STD and best.excess <= MOST_EXCESS else None
