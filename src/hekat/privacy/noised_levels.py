"""A party's vector as noised levels: cut at public bounds, rounded by a secret dither, with its share of the noise.

The order is the claim: values are cut before they are rounded, and what is noised is never cut again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.privacy.accounting import NoisedSum
from hekat.privacy.noise import draw_noise
from hekat.privacy.secret_words import draw_words

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

CLIP_MARGIN = 2.0**-20
"""How far below the clip a norm is brought: more than sums and products of floats err."""
_DITHER_BITS = 30


def clip_factors(norms: FloatArray, clip: float) -> FloatArray:
    """What vectors of these L2 norms are multiplied by, so that no norm passes `clip` (1 - 2^-20).

    Args:
        norms: L2 norms; one that is not finite gives a factor of 0.
        clip: C, above 0.

    Returns:
        Factors from 0 to 1, of the same shape.

    Examples:
        >>> import numpy as np
        >>> from hekat.privacy.noised_levels import clip_factors
        >>> clip_factors(np.array([0.5, 4.0, np.inf]), 2.0).round(3).tolist()
        [1.0, 0.5, 0.0]
    """
    most = clip * (1 - CLIP_MARGIN)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.minimum(1.0, most / norms)
    return np.where(np.isfinite(norms), factors, 0.0)


def round_by_dither(values: FloatArray, granularity: float, bound: float) -> IntArray:
    """Levels of `values`, cut at +-bound: floor(value / granularity + u) with u secret and uniform in [0, 1).

    In whole numbers of 2^-30 levels, so that no sum is rounded: two vectors under one u differ by a randomised rounding
    of their difference.

    Args:
        values: Finite.
        granularity: gamma, one level.
        bound: alpha, at most 2^31 levels.

    Returns:
        int64 of the same shape.
    """
    levels = np.clip(values, -bound, bound) / granularity
    fixed = np.rint(levels * 2.0**_DITHER_BITS).astype(np.int64)
    dither = (draw_words(values.size) >> np.uint64(64 - _DITHER_BITS)).astype(np.int64).reshape(values.shape)
    rounded: IntArray = (fixed + dither) >> _DITHER_BITS
    return rounded


def noised_levels(values: FloatArray, mechanism: NoisedSum) -> IntArray:
    """`values` as levels of `mechanism` with one party's fresh noise: what it masks and sends, as often as it sends it.

    Another call draws other noise, which would average out over two sends of one update.

    Args:
        values: The sum of terms that are each clipped to the mechanism's clip; finite.
        mechanism: The sum's form; `mechanism.value_count` counts all values of the release.

    Returns:
        int64 of the same shape, within the lane that the mechanism was fitted to.
    """
    levels = round_by_dither(values, mechanism.granularity, mechanism.alpha)
    noise = draw_noise(mechanism.law, values.shape)
    return levels + noise
