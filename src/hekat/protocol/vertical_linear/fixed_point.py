"""Numbers as integers at a public scale, and how far a gradient of such integers can lie from the exact one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Features, is_dense
from hekat.errors import BoundError
from hekat.protocol.vertical_linear.settings import FixedPoint

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# What features and scores reach at their scale, at most: products and their sums over 2^30 rows stay below 2^141.
FEATURE_LIMIT_BITS = 47
VALUE_LIMIT_BITS = 62


def encode_numbers(values: FloatArray, scale_bits: int, limit_bits: int, what: str) -> IntArray:
    """`values` at a scale of 2^-scale_bits as int64 of the same shape, each rounded to the nearest integer.

    Raises BoundError, without the value, where a magnitude reaches 2^limit_bits (at most 62) or is no number: nothing
    wraps, nothing is clipped.
    """
    scaled = np.rint(np.ldexp(values, scale_bits))
    if not (np.abs(scaled) < 2.0**limit_bits).all():
        finite = bool(np.isfinite(values).all())
        raise BoundError(
            f"{what} cannot be written as integers of this scale",
            expected=f"magnitudes below 2^{limit_bits - scale_bits}",
            got="a larger one" if finite else "one that is not finite: training diverges",
            cure="lower training.learning_rate, standardise the columns, or choose fewer fixed_point bits",
        )
    return scaled.astype(np.int64)


def encode_features(features: Features, fixed_point: FixedPoint, party: str) -> Any:
    """Features (rows, columns) as int64 at their scale, dense or sparse as they are; Raises BoundError."""
    what = f"features of {party}"
    bits = fixed_point.feature_bits
    if is_dense(features):
        return encode_numbers(features, bits, FEATURE_LIMIT_BITS, what)
    from scipy.sparse import csr_array

    stored = encode_numbers(features.data, bits, FEATURE_LIMIT_BITS, what)
    return csr_array((stored, features.indices, features.indptr), shape=features.shape)


def encode_scores(scores: FloatArray, fixed_point: FixedPoint, party: str) -> IntArray:
    """A party's part of the residuals as int64 at their scale. Raises BoundError."""
    return encode_numbers(scores, fixed_point.value_bits, VALUE_LIMIT_BITS, f"scores of {party}")


def decode_products(products: npt.NDArray[Any], fixed_point: FixedPoint) -> FloatArray:
    """Sums of feature times residual, exact integers of any size, as float64: one rounding each."""
    scale_bits = fixed_point.feature_bits + fixed_point.value_bits
    return np.ldexp(np.asarray(products).astype(np.float64), -scale_bits)


def step_error_bound(largest_feature: float, mean_residual: float, party_count: int, fixed_point: FixedPoint) -> float:
    """How far any entry of X^T d / rows can lie from that of the exact features and residuals.

    With features x' = x + e, |e| <= 2^-(feature_bits + 1), and residuals d' that are sums of `party_count` rounded
    parts, |d' - d| <= party_count 2^-(value_bits + 1), the mean of x' d' - x d = x (d' - d) + e d' is at most
    largest_feature |d' - d| + 2^-(feature_bits + 1) mean |d'|. `largest_feature` is max |x| over the party's own
    columns (1 for an intercept, whose e is 0), `mean_residual` the mean of |d'| over the batch, or more. What float64
    itself rounds, in scores and products, is not counted: see `float_error`.
    """
    residual_error = party_count * 2.0 ** -(fixed_point.value_bits + 1)
    return largest_feature * residual_error + 2.0 ** -(fixed_point.feature_bits + 1) * mean_residual


def float_error(largest_feature: float, score_size: float, term_count: int, row_count: int) -> float:
    """What float64 rounds in a gradient: `score_size` bounds sum |x w| + |y| of a row, `term_count` the terms of it.

    A sum of k products is off by at most k 2^-53 of the sum of their magnitudes (Higham 2002, section 3.1); the factor
    4 covers factors such as 1/4, the second sum and the division by the rows.
    """
    return 4.0 * (term_count + row_count + 4) * 2.0**-53 * max(1.0, largest_feature) * (score_size + 1.0)
