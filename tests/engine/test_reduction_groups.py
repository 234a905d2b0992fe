"""Groups of members: where they begin, which group a member is in, and numbers made dense."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hekat.engine.reduction_groups import groups_of_members, offsets_of, renumber, segment_groups


@pytest.mark.parametrize("lengths", [[], [0], [3], [0, 2, 0, 0, 1, 0]])
def test_members_are_of_the_line_between_whose_offsets_they_stand(lengths: list[int]) -> None:
    offsets = offsets_of(np.array(lengths, np.int64))
    assert offsets.tolist() == [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    assert groups_of_members(offsets).tolist() == [i for i, length in enumerate(lengths) for _ in range(length)]


@pytest.mark.parametrize("count", [1, 7, 300, 70_000])
def test_segments_keep_the_order_of_their_members(count: int) -> None:
    segments = np.random.default_rng(5).integers(0, count, 1000)
    members, offsets = segment_groups(segments, count)
    assert np.array_equal(segments[members], groups_of_members(offsets))
    assert all(a < b or segments[a] != segments[b] for a, b in pairwise(members))


@pytest.mark.parametrize("size", [0, 1, 500])
def test_numbers_are_made_dense_as_numpy_would_by_sorting(size: int) -> None:
    numbers = np.random.default_rng(6).integers(0, 400, size)
    different, places = renumber(numbers, 400)
    expected, expected_places = np.unique(numbers, return_inverse=True)
    assert (different.dtype, places.dtype) == (np.int64, np.int64)
    assert np.array_equal(different, expected)
    assert np.array_equal(places, expected_places)
