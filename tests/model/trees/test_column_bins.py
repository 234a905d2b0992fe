"""Bins of columns: edges, missing values, categories, and columns that hold nothing to split by."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.model.trees import ColumnBins, bin_rows, bin_table, find_bins

SEED = 20


def test_few_values_have_a_bin_each() -> None:
    bins = find_bins(np.array([3.0, 1.0, 1.0, 2.0, np.nan]), 4)
    assert bins.edges.tolist() == [1.5, 2.5]
    assert bins.bin_count == 4
    assert bins.digits(np.array([1.0, 1.5, 1.6, 2.0, 2.6, 99.0, -99.0, np.nan])).tolist() == [0, 0, 1, 1, 2, 2, 0, 3]


@pytest.mark.parametrize("max_bins", [2, 3, 16, 64, 255])
def test_bins_of_many_values_hold_about_as_many_rows(max_bins: int) -> None:
    values = np.random.default_rng(SEED).normal(size=20_000)
    bins = find_bins(values, max_bins)
    counts = np.bincount(bins.digits(values), minlength=bins.bin_count)
    assert bins.value_bin_count == max_bins
    assert counts[-1] == 0
    assert counts[:-1].min() > 0.9 * 20_000 / max_bins - 2
    assert counts[:-1].max() < 1.1 * 20_000 / max_bins + 2


def test_a_value_of_many_rows_has_a_bin_alone() -> None:
    rng = np.random.default_rng(SEED)
    values = np.concatenate([np.zeros(9_000), rng.normal(size=1_000)])
    bins = find_bins(values, 16)
    digits = bins.digits(values)
    assert set(values[digits == bins.digits(np.zeros(1))[0]]) == {0.0}
    # Quantiles alone would give the other thousand rows two bins.
    assert bins.value_bin_count >= 14


@pytest.mark.parametrize("seed", range(20))
def test_training_values_lie_within_their_edges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=rng.integers(1, 400)) * rng.choice([1, 10, 1e9]), rng.integers(0, 4))
    max_bins = int(rng.integers(2, 40))
    bins = find_bins(values, max_bins)
    assert bins.value_bin_count <= max_bins
    digits = bins.digits(values)
    edges = np.concatenate([[-np.inf], bins.edges, [np.inf]])
    assert ((edges[digits] < values) & (values <= edges[digits + 1])).all()
    assert len(np.unique(digits)) == bins.value_bin_count


def test_neighbouring_floats_are_told_apart() -> None:
    values = np.array([1.0, np.nextafter(1.0, 2.0), -1e308, 1e308, 5e-324, 0.0])
    bins = find_bins(values, 8)
    assert len(set(bins.digits(values))) == 6


@pytest.mark.parametrize("values", [np.full(9, 4.0), np.full(9, np.nan), np.zeros(0)])
def test_a_column_of_one_value_or_none_has_one_bin(values: np.ndarray) -> None:
    bins = find_bins(values, 32)
    assert (bins.value_bin_count, bins.bin_count) == (1, 2)
    assert bins.digits(np.array([-1.0, 7.0, np.nan])).tolist() == [0, 0, 1]


def test_categories_have_bins_by_value() -> None:
    bins = find_bins(np.array([7.0, 7.0, 2.0, 5.0]), 3, is_category=True)
    assert bins.digits(np.array([2.0, 5.0, 7.0, 6.0, np.nan, 99.0, -1.0])).tolist() == [0, 1, 2, 3, 3, 3, 3]


def test_rare_categories_share_a_bin() -> None:
    values = np.repeat(np.arange(6.0), [1, 9, 2, 8, 3, 7])
    bins = find_bins(values, 3, is_category=True)
    assert bins.digits(np.arange(7.0)).tolist() == [2, 0, 2, 1, 2, 2, 3]


def test_an_empty_column_of_categories_has_the_missing_bin() -> None:
    bins = find_bins(np.full(3, np.nan), 3, is_category=True)
    assert bins.digits(np.array([1.0, np.nan])).tolist() == [1, 1]


def test_infinite_values_are_refused() -> None:
    with pytest.raises(InputError, match="infinite"):
        find_bins(np.array([1.0, np.inf]), 8)


@pytest.mark.parametrize("max_bins", [1, 256, 0])
def test_a_number_of_bins_out_of_range_is_refused(max_bins: int) -> None:
    with pytest.raises(InputError, match=r"training\.max_bins"):
        find_bins(np.arange(9.0), max_bins)


@pytest.mark.parametrize("edges", [[1.0, 1.0], [2.0, 1.0], [np.nan], [[1.0]], np.arange(255.0)])
def test_hostile_edges_are_refused(edges: list) -> None:
    with pytest.raises(InputError):
        ColumnBins(np.array(edges))


def test_hostile_categories_are_refused() -> None:
    with pytest.raises(InputError):
        ColumnBins(np.arange(3.0), is_category=True, category_bins=np.zeros(2, np.uint8))
    with pytest.raises(InputError):
        ColumnBins(np.arange(3.0), is_category=True, category_bins=np.full(3, 255, np.uint8))


def test_a_table_is_binned_by_column() -> None:
    X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 5.0]])
    table = bin_table(X, 8, categories={1})
    assert table.digits.tolist() == [[0, 1, 2], [0, 1, 0]]
    assert table.widest == 4
    assert bin_rows(np.array([[9.0, 6.0]]), table.bins).digits.tolist() == [[2], [1]]


@pytest.mark.parametrize(
    ("X", "categories"),
    [(np.zeros(3), ()), (np.zeros((0, 2)), ()), (np.zeros((3, 2), np.float32), ()), (np.zeros((3, 2)), {2})],
)
def test_a_table_of_another_form_is_refused(X: np.ndarray, categories: set) -> None:
    with pytest.raises(InputError):
        bin_table(X, 8, categories)


def test_rows_with_other_columns_are_refused() -> None:
    with pytest.raises(InputError, match="do not fit"):
        bin_rows(np.zeros((2, 3)), bin_table(np.zeros((2, 2)), 8).bins)
