"""At which scales a prediction's numbers stand, and how both holders cut their shares of a score.

Weights stand at 2^-32, rows at 2^-ROW_BITS, so scores at 2^-48; all mod 2^SHARE_BITS. That ring is as large as noise
lets it be where a sum of shares is opened: noise shows in a score with odds below 2^-40. Each holder cuts its own share
to 2^-SCORE_BITS, which leaves a score off by less than one unit, but with odds of 2^(59 - SHARE_BITS) for scores below
2^MAGNITUDE_BITS in magnitude. The unit is drawn by the mask: a row that is scored again may get the next score.

What remains is told mod 2^OPENED_BITS, the bits of a score and one more that shows which are out of range. So a row
tells OPENED_BITS bits at most, also where an asker multiplies the weights by other numbers than rows can have.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import BoundError, DivergedError, InputError
from hekat.protocol.encrypted_model.arithmetic.fixed_point import WEIGHT_BITS
from hekat.protocol.encrypted_model.prediction.settings import SCORE_BITS
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.shares.share_array import ShareArray, negate, shift_right
from hekat.scheme.bfv.shared_products import MatrixLayout, lay_out_matrices

FloatArray = npt.NDArray[np.float64]
ScoreShare = npt.NDArray[np.uint64]
"""Shares of scores (rows, K) at 2^-SCORE_BITS, mod 2^OPENED_BITS."""

ROW_BITS: Final = 16
LARGEST_ROW_VALUE: Final = 2.0**11
"""How many spreads from its mean a value may lie."""
SHARE_BITS: Final = 104
MAGNITUDE_BITS: Final = 10
"""No score reaches two to the power of that, in a regression in spreads of its label."""
OPENED_BITS: Final = MAGNITUDE_BITS + SCORE_BITS + 2
_CUT_BITS: Final = WEIGHT_BITS + ROW_BITS - SCORE_BITS
_OPENED_MASK: Final = np.uint64((1 << OPENED_BITS) - 1)
_HIGH_MASK: Final = np.uint64((1 << (SHARE_BITS - 64)) - 1)


def lay_out_scores(row_count: int, weight_count: int, target_count: int) -> MatrixLayout:
    """How rows (row_count, weight_count) and weights (weight_count, K) lie in polynomials."""
    return lay_out_matrices(
        bits=SHARE_BITS,
        rows=row_count,
        inner=weight_count,
        columns=target_count,
        plain_bound=int(LARGEST_ROW_VALUE) << ROW_BITS,
        opened=True,
    )


def reduce_share(share: ShareArray) -> ShareArray:
    """A share mod 2^128 as one mod 2^SHARE_BITS."""
    return np.stack([share[..., 0], share[..., 1] & _HIGH_MASK], axis=-1)


def cut_arbiter_share(share: ShareArray) -> ScoreShare:
    """From 2^-48 to 2^-SCORE_BITS; together with the asker's less than one unit off."""
    return _narrow(shift_right(share, _CUT_BITS))


def cut_asker_share(share: ShareArray) -> ScoreShare:
    """As `cut_arbiter_share`, of the other share: the negation is rounded."""
    return _narrow(negate(shift_right(reduce_share(negate(share)), _CUT_BITS)))


def add_score_shares(first: ScoreShare, second: ScoreShare) -> FloatArray:
    """The scores (rows, K). Raises DivergedError for one beyond 2^MAGNITUDE_BITS."""
    total = ((first + second) & _OPENED_MASK).astype(np.int64)
    scores = np.ldexp(np.where(total >> (OPENED_BITS - 1), total - (1 << OPENED_BITS), total), -SCORE_BITS)
    if float(np.abs(scores).max()) >= 2.0**MAGNITUDE_BITS:
        raise DivergedError(
            "a score is out of range",
            expected=f"magnitudes below 2^{MAGNITUDE_BITS}",
            got="a larger one",
            cure="leave out rows far from all that the model was trained on, or train anew at a lower rate",
        )
    return np.asarray(scores)


def _narrow(share: ShareArray) -> ScoreShare:
    return np.asarray(share[..., 0] & _OPENED_MASK)


def round_rows(values: FloatArray, facts: ModelFacts) -> npt.NDArray[np.int64]:
    """Rows as they stand in tables, standardised, with a column of ones, at 2^-ROW_BITS.

    Raises InputError for NaN and for other columns, BoundError for a value too far from its mean.
    """
    count = len(facts.columns)
    if values.ndim != 2 or values.shape[1] != count:
        raise InputError("rows do not fit the model", expected=f"{count} columns", got=f"shape {values.shape}")
    means, spreads = facts.moments.means[:count], facts.moments.spreads[:count]
    rows = np.column_stack([(values - means) / spreads, np.ones(len(values))])
    if not float(np.abs(rows).max()) < LARGEST_ROW_VALUE:
        raise BoundError(
            "a row lies too far from the rows that the model was trained on",
            expected=f"values within {LARGEST_ROW_VALUE:g} spreads of their mean",
            got="one farther away, or none at all",
            cure="check the units of the columns, and fill in what is missing",
        )
    return np.rint(np.ldexp(rows, ROW_BITS)).astype(np.int64)
