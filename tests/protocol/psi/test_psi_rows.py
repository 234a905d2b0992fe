"""Rows of 32 bytes: sorted, matched, drawn in a random order, and filled up to the ladder."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.protocol.psi.padding import RUNGS_PER_DOUBLING, SMALLEST_RUNG, padded_count
from hekat.protocol.psi.rows import count_repeats, draw_order, match_rows, random_rows, sort_rows

# Rows that differ at a chosen byte alone, so that every byte counts.
ROWS = st.builds(
    lambda place, value: bytes(place) + bytes([value]) + bytes(31 - place), st.integers(0, 31), st.integers(0, 255)
)


def as_array(rows: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, 32)


@given(st.lists(ROWS, min_size=1, max_size=40))
def test_sorting_is_that_of_bytes(rows) -> None:
    assert [rows[place] for place in sort_rows(as_array(rows))] == sorted(rows)
    assert count_repeats(as_array(rows)) == len(rows) - len(set(rows))


@given(st.lists(ROWS, unique=True, max_size=40), st.lists(ROWS, unique=True, max_size=40))
def test_matching_is_that_of_sets(ours, theirs) -> None:
    mine, others = match_rows(as_array(ours), as_array(theirs))
    assert [ours[place] for place in mine] == [theirs[place] for place in others] == sorted(set(ours) & set(theirs))


def test_drawn_orders_are_orders_and_differ() -> None:
    drawn = [draw_order(50) for _ in range(4)]
    assert all(sorted(order) == list(range(50)) for order in drawn)
    assert len({tuple(order) for order in drawn}) == 4


def test_every_place_is_drawn_alike() -> None:
    """4,000 orders of 4: each thing stands at each place 1,000 times, to within 8 standard deviations of 27.4."""
    counts = np.zeros((4, 4), int)
    for _ in range(4000):
        counts[np.arange(4), draw_order(4)] += 1
    assert np.abs(counts - 1000).max() < 8 * 27.4


def test_random_rows() -> None:
    assert random_rows(3).shape == (3, 32)
    assert random_rows(0).shape == (0, 32)
    assert not np.array_equal(random_rows(3), random_rows(3))


@given(st.integers(1, 5_000_000))
def test_rungs(count: int) -> None:
    rung = padded_count(count)
    assert rung >= count
    assert padded_count(rung) == rung
    assert rung == SMALLEST_RUNG or (rung - count) * RUNGS_PER_DOUBLING < count
    assert padded_count(count + 1) >= rung


@pytest.mark.parametrize(
    ("count", "rung"), [(1, 256), (256, 256), (257, 264), (512, 512), (513, 528), (100_000, 100_352)]
)
def test_rungs_in_numbers(count: int, rung: int) -> None:
    assert padded_count(count) == rung
