"""The noise of an opened sum, measured: its variance beside what the parties' noise together has to have."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

# The mean of so many squares is near enough to normal for chances down to 1e-12.
LEAST_COUNT = 4096
LEAST_CHANCE = 1e-12


@dataclass(frozen=True)
class NoiseMeasure:
    """What noise was found beside the noise expected.

    Attributes:
        variance_ratio: The mean square over the expected variance.
        variance_tolerance: How far from 1 it may be by chance.
        mean_error: The mean, in expected standard deviations.
        mean_tolerance: How far from 0 it may be by chance.
    """

    variance_ratio: float
    variance_tolerance: float
    mean_error: float
    mean_tolerance: float

    @property
    def is_enough(self) -> bool:
        """Whether there is no less noise than expected."""
        return self.variance_ratio >= 1 - self.variance_tolerance

    @property
    def is_as_expected(self) -> bool:
        """Whether variance and mean are what the noise expected has, no less and no more."""
        is_even = abs(self.mean_error) <= self.mean_tolerance
        return is_even and abs(self.variance_ratio - 1) <= self.variance_tolerance


def measure_noise(errors: npt.NDArray[Any], variance: Fraction | float, *, chance: float = 1e-10) -> NoiseMeasure:
    """The noise in an opened sum, beside the variance that it has to have.

    An audit that shows noise of half the size, which guesses about canaries do not: every party sends zeros, so that
    what opens is noise alone. From |U| parties with s each, the variance is |U| s^2. The relative error of d values is
    sqrt(2 / d): with 100,000 values one party in twenty that adds none shows.

    Args:
        errors: The opened sum less the values that went in, integers, one-dimensional, at least 4,096.
        variance: The variance of each value, above 0.
        chance: That noise as expected is taken for other noise, from 1e-12 to 1.

    Returns:
        The measure; ask `is_enough` or `is_as_expected`.

    Raises:
        InputError: Too few values, no integers, a variance or chance out of range.

    Examples:
        >>> from fractions import Fraction
        >>> from hekat.privacy.audit import measure_noise
        >>> from hekat.privacy.noise import DiscreteGaussian, draw_noise
        >>> law = DiscreteGaussian.of_at_least(Fraction(900))
        >>> opened = draw_noise(law, 50_000) + draw_noise(law, 50_000)
        >>> measure_noise(opened, 2 * law.variance).is_as_expected
        True
        >>> measure_noise(opened, 3 * law.variance).is_enough
        False
    """
    is_vector = isinstance(errors, np.ndarray) and errors.ndim == 1 and errors.dtype.kind in "iu"
    if not is_vector or errors.size < LEAST_COUNT:
        shown = f"{errors.dtype} {errors.shape}" if isinstance(errors, np.ndarray) else type(errors).__name__
        raise InputError("opened noise refused", expected=f"integers, {LEAST_COUNT:,} and more", got=shown)
    if not variance > 0:
        raise InputError("variance of noise refused", expected="above 0", got=f"{float(variance):g}")
    if not LEAST_CHANCE <= chance < 1:
        raise InputError("chance of a false alarm refused", expected=f"{LEAST_CHANCE:g} to 1", got=f"{chance:g}")
    scaled = errors / float(variance) ** 0.5
    # A part of the chance for each side of each of the two.
    deviations = NormalDist().inv_cdf(1 - chance / 4)
    root = float(errors.size) ** 0.5
    return NoiseMeasure(float((scaled**2).mean()), deviations * 2**0.5 / root, float(scaled.mean()), deviations / root)
