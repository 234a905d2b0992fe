"""Numbers as integers of a scale: nothing wraps, and gradients made of them keep within their stated bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import BoundError
from hekat.protocol.vertical_linear.fixed_point import (
    VALUE_LIMIT_BITS,
    column_error_bound,
    decode_features,
    decode_products,
    encode_features,
    encode_numbers,
    encode_scores,
    float_error,
    step_error_bound,
)
from hekat.protocol.vertical_linear.training_settings import FixedPoint


def test_each_number_is_rounded_to_the_nearest_integer() -> None:
    values = np.array([0.0, 0.49, 0.51, -0.49, -0.51, 1.5, 2.5, -3.0]) / 256
    assert encode_numbers(values, 8, 40, "values").tolist() == [0, 0, 1, 0, -1, 2, 2, -3]


@pytest.mark.parametrize("value", [2.0**22, -(2.0**22), np.inf, np.nan, 1e300])
def test_what_passes_the_limit_is_refused_without_the_value(value: float) -> None:
    with pytest.raises(BoundError, match="scores of shop cannot be written") as caught:
        encode_scores(np.array([1.0, value]), FixedPoint(), "shop")
    assert "e+" not in str(caught.value)
    assert "learning_rate" in caught.value.cure


def test_the_largest_that_is_left_is_exact() -> None:
    largest = np.array([2.0**22 - 2.0**-30, -(2.0**22) + 2.0**-30])
    encoded = encode_scores(largest, FixedPoint(), "shop")
    assert np.abs(encoded).max() < 2**VALUE_LIMIT_BITS
    assert np.array_equal(np.ldexp(encoded.astype(float), -32), largest)


def test_features_come_back_as_rounded_dense_or_sparse() -> None:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(1)
    features = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.5)
    fixed_point = FixedPoint(feature_bits=12)
    dense = decode_features(encode_features(features, fixed_point, "shop"), fixed_point)
    assert np.abs(dense - features).max() <= 2.0**-13
    sparse = encode_features(csr_array(features), fixed_point, "shop")
    assert sparse.nnz == np.count_nonzero(features)
    assert np.array_equal(decode_features(sparse, fixed_point).toarray(), dense)


def test_products_of_any_size_are_rounded_once() -> None:
    exact = np.array([3**70, -(3**70), 1, 0], dtype=object)
    assert decode_products(exact, FixedPoint()).tolist() == [3.0**70 / 2**48, -(3.0**70) / 2**48, 2.0**-48, 0.0]


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 40),
    parties=st.integers(1, 4),
    feature_bits=st.integers(8, 30),
    value_bits=st.integers(8, 40),
    scale=st.sampled_from([1e-3, 1.0, 50.0]),
)
def test_gradients_of_integers_stay_within_their_bounds(seed, rows, parties, feature_bits, value_bits, scale) -> None:
    """The rounding of the protocol, played in the clear for several parties of unlike scales."""
    rng = np.random.default_rng(seed)
    fixed_point = FixedPoint(feature_bits, value_bits)
    columns = [scale * rng.normal(size=(rows, 2)) for _ in range(parties)]
    weights = [rng.normal(size=(2, 1)) for _ in range(parties)]
    targets = rng.choice([-1.0, 1.0], size=(rows, 1))
    integers = [encode_features(one, fixed_point, "p") for one in columns]
    rounded = [decode_features(one, fixed_point) for one in integers]
    parts = [0.25 * (one @ w) for one, w in zip(rounded, weights, strict=True)]
    parts[0] = parts[0] - 0.5 * targets
    residual = sum(encode_scores(part, fixed_point, "p") for part in parts)
    size = sum(float((np.abs(one) @ np.abs(w)).max()) for one, w in zip(columns, weights, strict=True)) + 1.0
    exact_of_rounded = sum(0.25 * (one @ w) for one, w in zip(rounded, weights, strict=True)) - 0.5 * targets
    exact = sum(0.25 * (one @ w) for one, w in zip(columns, weights, strict=True)) - 0.5 * targets
    weight_size = float(sum(np.abs(w).sum() for w in weights))
    for party in range(parties):
        products = integers[party].T.astype(object) @ residual.astype(object)
        found = decode_products(products, fixed_point) / rows
        largest = float(np.abs(rounded[party]).max())
        of_steps = step_error_bound(largest, parties, fixed_point) + float_error(largest, size, 2 * parties, rows)
        assert np.abs(found - rounded[party].T @ exact_of_rounded / rows).max() <= of_steps
        largest = float(np.abs(columns[party]).max())
        of_columns = column_error_bound(largest, weight_size, 0.25, float(np.abs(exact).mean()), fixed_point)
        allowed = step_error_bound(largest + 2.0**-feature_bits, parties, fixed_point) + of_columns
        allowed += float_error(largest, size, 2 * parties, rows)
        assert np.abs(found - columns[party].T @ exact / rows).max() <= allowed
