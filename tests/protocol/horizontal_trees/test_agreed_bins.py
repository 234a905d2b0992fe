"""Bins from sums of counts: near the quantiles of all rows, equal wherever rows lie, and exact where values are few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hekat.errors import ProtocolError
from hekat.protocol.horizontal_trees.binning.agree_on_bins import agree_on_bins, most_cells
from hekat.protocol.horizontal_trees.binning.cells import (
    Cells,
    bin_counts_of,
    count_refinement,
    cut,
    edges_of,
    first_cells,
    refine,
)
from hekat.protocol.horizontal_trees.binning.float_keys import end_key, first_cuts, keys_of, values_of
from hekat.protocol.secure_sum.aggregation import Alone

floats = st.floats(allow_nan=False, width=64)


def find(features, max_bins=16, indicators=()):
    return agree_on_bins(Alone(), features, max_bins=max_bins, weight_max=1 << 20, indicators=indicators)


@given(st.lists(floats, min_size=2, max_size=30))
@hypothesis_settings(max_examples=60, deadline=None)
def test_keys_have_the_order_of_floats_and_lead_back_to_them(values) -> None:
    array = np.array(values)
    keys = keys_of(array)
    assert np.array_equal(values_of(keys), array)
    assert np.array_equal(keys[:, None] < keys, array[:, None] < array)


def test_neighbouring_floats_have_neighbouring_keys_across_zero() -> None:
    smallest = np.nextafter(0.0, 1.0)
    assert keys_of(np.array([-smallest, -0.0, 0.0, smallest])).tolist() == [-1, 0, 0, 1]


def test_first_cells_lie_alike_on_both_sides_of_zero_and_cover_all_floats() -> None:
    starts = first_cuts()
    assert (np.diff(starts) > 0).all()
    assert starts[0] == keys_of(np.array([-np.inf]))[0]
    assert end_key() - 1 == keys_of(np.array([np.inf]))[0]
    inner = starts[1:]
    assert np.array_equal(np.sort(1 - inner), inner)


@pytest.mark.parametrize("kind", ["normal", "lognormal", "far from zero", "whole numbers", "mostly zero", "tiny"])
def test_bins_are_near_the_quantiles_of_all_rows(kind) -> None:
    rng = np.random.default_rng(8)
    count, bins = 20_000, 64
    values = {
        "normal": lambda: rng.normal(size=count),
        "lognormal": lambda: np.exp(5 * rng.normal(size=count)),
        "far from zero": lambda: 1.6e9 + 1e5 * rng.random(count),
        "whole numbers": lambda: rng.integers(0, 5000, count).astype(float),
        "mostly zero": lambda: np.where(rng.random(count) < 0.9, 0.0, rng.normal(size=count)),
        "tiny": lambda: 1e-30 * rng.normal(size=count),
    }[kind]()
    found = find(values[:, None], bins)
    counts = found.counts[0]
    assert counts.sum() == found.row_count == count
    assert counts[-1] == 0, "nothing is missing"
    assert np.array_equal(np.bincount(found.columns[0].digits(values), minlength=counts.size), counts)
    shared = np.unique(values, return_counts=True)[1].max()
    # An even share, and at most half a cell beside each end; a value that many rows share is in one bin.
    assert counts.max() <= max(shared, count / bins) + count / bins
    assert found.columns[0].value_bin_count >= (6 if kind == "mostly zero" else 60)


@given(st.lists(st.sampled_from([-1e300, -2.5, -1.0, 0.0, 1e-9, 1.0, 1.1, 7.0, 1e20]), min_size=1, max_size=40))
@hypothesis_settings(max_examples=40, deadline=None)
def test_few_values_have_a_bin_each(values) -> None:
    found = find(np.array(values)[:, None], 16)
    assert sorted(found.counts[0][found.counts[0] > 0].tolist()) == sorted(
        np.unique(values, return_counts=True)[1].tolist()
    )


def test_cells_that_are_cut_count_the_same_rows_and_end_at_single_floats() -> None:
    rng = np.random.default_rng(3)
    values = np.repeat(1.0 + 1e-15 * rng.integers(0, 3, 40), 5)
    keys = np.sort(keys_of(values))
    cells = first_cells()
    cells = Cells(cells.starts, np.diff(np.searchsorted(keys, np.append(cells.starts, end_key()))))
    for _ in range(8):
        refinement = refine(cells, keys.size, 16)
        if refinement is None:
            break
        counts = count_refinement(keys, cells, refinement)
        cells = cut(cells, refinement, counts, "here")
    assert refine(cells, keys.size, 16) is None
    assert cells.counts.sum() == keys.size
    edges = edges_of(cells, 16)
    assert edges.size == np.unique(values).size - 1
    assert bin_counts_of(cells, edges).tolist() == np.unique(values, return_counts=True)[1].tolist()


def test_a_cell_of_a_lone_row_is_never_cut_however_few_rows_there_are() -> None:
    values = np.array([3.0, 70.123456789, 5e6])
    keys = np.sort(keys_of(values))
    cells = first_cells()
    cells = Cells(cells.starts, np.diff(np.searchsorted(keys, np.append(cells.starts, end_key()))))
    assert refine(cells, keys.size, 16) is None
    edges = find(values[:, None], 16).columns[0].edges
    # Halfway between the quarters of powers of two that 70.12 and 5,000,000 lie in.
    assert edges[1] == pytest.approx((80 + 2**22) / 2)


@pytest.mark.parametrize("change", [1, -1])
def test_new_cells_that_do_not_hold_the_old_ones_rows_are_refused(change) -> None:
    keys = np.sort(keys_of(np.linspace(1.0, 2.0, 50)))
    cells = first_cells()
    cells = Cells(cells.starts, np.diff(np.searchsorted(keys, np.append(cells.starts, end_key()))))
    refinement = refine(cells, 50, 8)
    counts = count_refinement(keys, cells, refinement)
    counts[0, 0] += change
    with pytest.raises(ProtocolError, match="do not fit together"):
        cut(cells, refinement, counts, "here")


def test_no_sum_of_the_binning_is_larger_than_the_aggregator_accepts() -> None:
    sizes = []

    class Counting(Alone):
        def weighted_mean(self, request):
            sizes.append(sum(values.size for values in request.tensors.values()))
            return super().weighted_mean(request)

    rng = np.random.default_rng(1)
    features = np.column_stack([rng.normal(size=30_000), np.exp(20 * rng.normal(size=30_000))])
    agree_on_bins(Counting(), features, max_bins=255, weight_max=1 << 20)
    assert len(sizes) > 1
    assert max(sizes) <= most_cells(2, 255)
