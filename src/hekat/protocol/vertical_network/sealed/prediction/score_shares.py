"""At which scale scores of a sealed network open, and how each party cuts its share of them.

A score s stands at 2^-26 mod t. A party that sends its share adds its noise of the row first (`score_noise`), so that
the same question asked again tells nothing finer (with other columns of its own a receiver has the same noise); then
both truncate to 2^-TOLD_BITS, which is off by less than one unit. What is left is told mod 2^OPENED_BITS, so a row
tells that many bits and no more, also a receiver that lies. These are the bits of every score that units below 16 can
give: a score out of its range shows, and does not wrap.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import DivergedError
from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.shares.modular_truncation import ModularTruncation
from hekat.protocol.shares.score_noise import score_noise
from hekat.protocol.shares.share_array import ShareArray
from hekat.protocol.vertical_network.fixed_point import FloatArray, IntArray
from hekat.protocol.vertical_network.network_settings import MOST_WIDTH
from hekat.protocol.vertical_network.sealed.run_odds import UNIT_WHOLE_BITS
from hekat.protocol.vertical_network.sealed.scales import SCORE_BITS, SLOT_RING

ScoreShare = npt.NDArray[np.uint64]
"""Shares of scores (rows,) at 2^-TOLD_BITS, mod 2^OPENED_BITS."""

TOLD_BITS: Final = 12
MAGNITUDE_BITS: Final = 9
"""No score of a training reaches two to the power of that."""
OPENED_BITS: Final = 28
SCORE_SHIFT: Final = SCORE_BITS - TOLD_BITS
_MOST_SCORE: Final = MOST_WIDTH * 2 ** (2 * UNIT_WHOLE_BITS - 2) + 2**UNIT_WHOLE_BITS
assert _MOST_SCORE < 2 ** (OPENED_BITS - 1 - TOLD_BITS)
_MASK: Final = np.uint64((1 << OPENED_BITS) - 1)


def add_noise(scores: ModularShares, columns: IntArray, secret: ShareArray) -> ModularShares:
    """Shares (primes, rows) with noise within half a told unit, the same whenever the own `columns` are scored.

    `columns` int64 (rows, own width) are the sender's, `secret` its share of the weights.
    """
    noise = score_noise(columns, secret, SCORE_SHIFT, 1)[:, 0, 0].view(np.int64)
    return SLOT_RING.add(scores, SLOT_RING.from_integers(noise))


def cut_share(scores: ModularShares, truncation: ModularTruncation) -> ScoreShare:
    """From shares (primes, rows) at 2^-26 mod t to what opens."""
    return np.asarray(truncation.into_limbs(scores, SCORE_SHIFT)[..., 0] & _MASK)


def open_scores(own: ScoreShare, other: ScoreShare) -> FloatArray:
    """The scores (rows,). Raises DivergedError for one of 2^MAGNITUDE_BITS or more."""
    total = ((own + other) & _MASK).astype(np.int64)
    scores = np.ldexp(np.where(total >> (OPENED_BITS - 1), total - (1 << OPENED_BITS), total), -TOLD_BITS)
    if float(np.abs(scores).max()) >= 2.0**MAGNITUDE_BITS:
        raise DivergedError(
            "a score is out of range",
            expected=f"magnitudes below 2^{MAGNITUDE_BITS}, which shares of one model give",
            got="a larger one",
            cure="use the parts of one training at both parties, or train anew at a lower shared_rate",
        )
    return np.asarray(scores)
