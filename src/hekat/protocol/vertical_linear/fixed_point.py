"""Numbers as integers at a public scale, and how far a gradient of such integers can lie from the exact gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Features, is_dense
from hekat.errors import BoundError, DivergedError
from hekat.protocol.vertical_linear.training_settings import FixedPoint

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Features and scores at their scale stay below these powers of two. Then the residual of up to 2^8 parties fits into
# int64, and a gradient over up to 2^24 rows into 127 bits.
FEATURE_LIMIT_BITS = 40
VALUE_LIMIT_BITS = 54


def encode_numbers(values: FloatArray, scale_bits: int, limit_bits: int, what: str) -> IntArray:
    """Round `values` at a scale of 2^-scale_bits to the nearest integers, int64 of the same shape.

    Raises BoundError, without the value, where a magnitude reaches 2^limit_bits (at most 62) or is no number. Nothing
    wraps, and nothing is clipped.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the check below refuses infinity
        scaled = np.rint(np.ldexp(values, scale_bits))
    if not (np.abs(scaled) < 2.0**limit_bits).all():
        finite = bool(np.isfinite(values).all())
        refusal = BoundError if finite else DivergedError
        raise refusal(
            f"{what} cannot be written as integers of this scale",
            expected=f"magnitudes below 2^{limit_bits - scale_bits}",
            got="a larger one" if finite else "one that is not finite: training diverges",
            cure="lower training.learning_rate, standardise the columns, or choose fewer fixed_point bits",
        )
    return scaled.astype(np.int64)


def encode_features(features: Features, fixed_point: FixedPoint, party: str) -> Any:
    """Round features (rows, columns) to int64 at their scale, dense or sparse as they are. Raises BoundError."""
    what = f"features of {party}"
    bits = fixed_point.feature_bits
    if is_dense(features):
        return encode_numbers(features, bits, FEATURE_LIMIT_BITS, what)
    from scipy.sparse import csr_array

    stored = encode_numbers(features.data, bits, FEATURE_LIMIT_BITS, what)
    return csr_array((stored, features.indices, features.indptr), shape=features.shape)


def decode_features(integers: Any, fixed_point: FixedPoint) -> Features:
    """The float64 columns that the integers of `encode_features` stand for exactly; training works on these."""
    if isinstance(integers, np.ndarray):
        return np.ldexp(integers.astype(np.float64), -fixed_point.feature_bits)
    columns = integers.astype(np.float64)
    columns.data = np.ldexp(columns.data, -fixed_point.feature_bits)
    return columns


def encode_scores(
    scores: FloatArray, fixed_point: FixedPoint, party: str, limit_bits: int = VALUE_LIMIT_BITS
) -> IntArray:
    """Round a party's part of the residuals to int64 at their scale, below 2^limit_bits. Raises BoundError."""
    return encode_numbers(scores, fixed_point.value_bits, min(limit_bits, VALUE_LIMIT_BITS), f"scores of {party}")


def decode_products(products: npt.NDArray[Any], fixed_point: FixedPoint) -> FloatArray:
    """Turn sums of feature times residual, exact integers of any size, into float64 with one rounding each."""
    scale_bits = fixed_point.feature_bits + fixed_point.value_bits
    return np.ldexp(np.asarray(products).astype(np.float64), -scale_bits)


def step_error_bound(largest_feature: float, party_count: int, fixed_point: FixedPoint) -> float:
    """How far any entry of X^T d / rows can lie from exact arithmetic on the same columns and weights.

    The columns are the result of `decode_features`, so integers hold them exactly. Residuals are sums of `party_count`
    parts, each rounded to 2^-value_bits: |d' - d| <= party_count 2^-(value_bits + 1). The mean of x (d' - d) over a
    batch is at most `largest_feature` = max |x| times that. `float_error` counts what float64 rounds on the way.
    """
    return largest_feature * party_count * 2.0 ** -(fixed_point.value_bits + 1)


def column_error_bound(
    largest_feature: float, weight_size: float, score_factor: float, mean_residual: float, fixed_point: FixedPoint
) -> float:
    """How far rounding all columns to 2^-feature_bits can move any entry of the exact gradient X^T d / rows.

    Let x' = x + e with |e| <= 2^-(feature_bits + 1). Scores move by at most |e| times `weight_size`, the sum of |w|
    over all columns of all parties; residuals move by `score_factor` times as much. The mean of
    x' d' - x d = x' (d' - d) + e d is at most max |x'| |d' - d| + 2^-(feature_bits + 1) mean |d|.
    """
    half_unit = 2.0 ** -(fixed_point.feature_bits + 1)
    return half_unit * ((largest_feature + half_unit) * score_factor * weight_size + mean_residual)


def float_error(largest_feature: float, score_size: float, term_count: int, row_count: int) -> float:
    """A bound of what float64 rounds in a gradient.

    `score_size` bounds sum |x w| + |y| of a row, and `term_count` the number of its terms. A sum of k products is off
    by at most k 2^-53 of the sum of their magnitudes (Higham 2002, section 3.1). The factor 4 covers factors such as
    1/4, the second sum and the division by the rows.
    """
    return 4.0 * (term_count + row_count + 4) * 2.0**-53 * max(1.0, largest_feature) * (score_size + 1.0)
