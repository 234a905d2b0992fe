"""A party's columns made ready for training, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import InputError
from hekat.protocol.vertical.columns import apply_standardiser, describe_limited, prepare_columns


def table_of(features) -> Table:
    return Table(features, None, tuple(f"c{i}" for i in range(features.shape[1])), "table of shop")


def test_columns_have_mean_0_and_spread_1_however_far_or_small_they_are() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(300, 4)) * [1.0, 1e-150, 1e12, 1e-3] + [0.0, 0.0, 1e12, 1e6]
    prepared = prepare_columns(table_of(features), standardise=True)
    assert np.abs(prepared.features.mean(axis=0)).max() < 1e-6
    assert np.abs(prepared.features.std(axis=0) - 1).max() < 1e-6
    assert prepared.largest == np.abs(prepared.features).max()
    assert np.array_equal(apply_standardiser(features, prepared.means, prepared.spreads), prepared.features)


def test_sparse_columns_are_scaled_and_not_centred() -> None:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(2)
    features = rng.normal(size=(50, 3)) * (rng.random((50, 3)) < 0.3)
    prepared = prepare_columns(table_of(csr_array(features)), standardise=True)
    assert prepared.features.nnz == np.count_nonzero(features)
    assert not prepared.means.any()
    np.testing.assert_allclose(prepared.features.toarray(), features / features.std(axis=0))
    with pytest.raises(InputError, match="sparse rows cannot be centred"):
        apply_standardiser(csr_array(features), np.ones(3), np.ones(3))


def test_columns_stay_as_they_are_without_standardising() -> None:
    features = np.arange(8.0).reshape(4, 2)
    prepared = prepare_columns(table_of(features), standardise=False)
    assert np.array_equal(prepared.features, features)
    assert (prepared.means.tolist(), prepared.spreads.tolist()) == ([0, 0], [1, 1])


def test_values_beyond_the_limit_are_set_to_it_and_counted() -> None:
    features = np.random.default_rng(3).standard_t(2, size=(400, 3)) * [1.0, 1e6, 1e-6] + [0.0, 1e7, 0.0]
    free = prepare_columns(table_of(features), standardise=True)
    limited = prepare_columns(table_of(features), standardise=True, limit_spreads=2.0)
    beyond = np.abs(free.features) > 2.0
    assert 0 < beyond.sum() == limited.limited_count
    assert np.array_equal(limited.features, np.where(beyond, 2.0 * np.sign(free.features), free.features))
    assert np.array_equal(limited.means, free.means)
    assert np.array_equal(limited.spreads, free.spreads)
    assert np.array_equal(apply_standardiser(features, free.means, free.spreads, 2.0), limited.features)
    assert describe_limited(limited, 2.0).startswith(f"{beyond.sum()} values ")
    assert free.limited_count == 0


def test_the_limit_leaves_the_zeros_of_sparse_rows() -> None:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(4)
    features = 1.0 + rng.standard_t(2, size=(200, 3)) * (rng.random((200, 3)) < 0.3) - 1.0
    features[features == 0] = 0.0
    limited = prepare_columns(table_of(csr_array(features)), standardise=True, limit_spreads=1.5)
    scaled = features / features.std(axis=0)
    assert limited.limited_count == (np.abs(scaled) > 1.5).sum() > 0
    assert limited.features.nnz == np.count_nonzero(features)
    np.testing.assert_allclose(limited.features.toarray(), np.clip(scaled, -1.5, 1.5))


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_a_feature_with_one_value_is_refused(value: float, sparse: bool, standardise: bool) -> None:
    from scipy.sparse import csr_array

    features = np.column_stack([np.arange(5.0), np.full(5, value)])
    table = table_of(csr_array(features) if sparse else features)
    with pytest.raises(InputError, match=r"feature with one value.*'c1'"):
        prepare_columns(table, standardise=standardise)


def test_too_few_rows_and_missing_values_are_refused() -> None:
    with pytest.raises(InputError, match="too few rows"):
        prepare_columns(table_of(np.ones((1, 2))), standardise=True)
    with pytest.raises(InputError, match="NaN"):
        prepare_columns(table_of(np.array([[1.0, np.nan], [2.0, 3.0]])), standardise=True)
