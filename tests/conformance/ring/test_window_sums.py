"""Conformance: the first coefficients of sums by bin, row by row against integers, and against whole sums."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hekat.engine.select import get_engine


def expected(ring, elements, digits, window, window_count, starts):
    """Each digit's coefficients added where they belong, in integers."""
    components = elements.shape[1]
    group_rows = ring.degree // window
    primes = np.array(ring.primes, object)[:, np.newaxis]
    sums = np.zeros((len(starts) - 1, window_count, components, len(ring.primes), window), object)
    for s, (first, end) in enumerate(pairwise(starts.tolist())):
        for row in range(first, end):
            group, j = divmod(row, group_rows)
            for digit in digits[:, row].tolist():
                if digit < 0:
                    continue
                w, place = divmod(digit, window)
                for i in range(window):
                    at = i - place + j * window
                    # X^N = -1.
                    coefficient = elements[group, ..., at % ring.degree].astype(object)
                    sums[s, w, ..., i] += coefficient if at >= 0 else -coefficient
    return (sums % primes).astype(np.uint64)


def arguments(oracle, ring, seed, *, window, rows, columns=3, components=1, windows=2, starts=None):
    """Random arguments; a fifth of the digits are absent."""
    rng = np.random.default_rng([seed, ring.degree])
    elements = oracle.random(ring, (-(-rows // (ring.degree // window)), components), seed)
    digits = rng.integers(0, window * windows, (columns, rows)).astype(np.int32)
    digits[rng.random(digits.shape) < 0.2] = -1
    return elements, digits, window, windows, np.array([0, rows] if starts is None else starts, np.int64)


def check(engine, ring, *given):
    kept = [x.copy() for x in (given[0], given[1], given[4])]
    found = engine.ring_window_sums(ring, *given)
    assert found.dtype == np.uint64
    assert np.array_equal(found, expected(ring, *given))
    assert all(np.array_equal(x, y) for x, y in zip((given[0], given[1], given[4]), kept, strict=True))


@pytest.fixture
def small(oracle):
    return oracle.make_ring(1024, oracle.primes_below(50, 1024, 2))


def test_every_ring(engine, ring, oracle):
    """Segments that begin, meet and end within groups, one of them empty, and rows that belong to none."""
    window = ring.degree // 4
    check(engine, ring, *arguments(oracle, ring, 1, window=window, rows=11, components=2, starts=[1, 6, 6, 9]))


@pytest.mark.quick_values
@pytest.mark.parametrize(
    ("window", "rows"), [(1, 3), (2, 600), (4, 70), (8, 130), (16, 65), (32, 33), (64, 17), (512, 3), (1024, 2)]
)
def test_windows_from_one_to_the_degree(engine, oracle, small, window, rows):
    """Groups of all rows to one row; the last group full, and not; more rows than are added in one go."""
    check(engine, small, *arguments(oracle, small, 2, window=window, rows=rows, columns=2, components=2))


def test_they_are_the_first_coefficients_of_whole_sums(engine, oracle, small):
    elements, digits, window, windows, starts = arguments(
        oracle, small, 3, window=8, rows=300, columns=5, components=2, windows=4, starts=[2, 140, 300]
    )
    reference = get_engine("reference") if engine.name == "reference" else engine
    whole = reference.ring_bin_sums(small, reference.ring_ntt(small, elements), digits, window, windows, starts)
    found = engine.ring_window_sums(small, elements, digits, window, windows, starts)
    assert np.array_equal(found, reference.ring_intt(small, whole)[..., :window])


@pytest.mark.parametrize("columns", [1, 8191, 8192, 20001])
def test_many_sums_of_the_highest_residues(engine, oracle, small, columns):
    """More digits in one place than are added before a reduction; more than 2^14 residues would pass 2^64."""
    count = min(columns, 100) if engine.name == "reference" else columns
    elements, digits, *rest = arguments(oracle, small, 4, window=8, rows=3, columns=count, windows=1)
    primes = np.array(small.primes, np.uint64)[:, np.newaxis]
    elements[...] = primes - np.uint64(1)
    digits[...] = 7
    of_one = expected(small, elements, digits[:1], *rest).astype(object)
    found = engine.ring_window_sums(small, elements, digits, *rest)
    assert np.array_equal(found, (of_one * count % primes.astype(object)).astype(np.uint64))


def test_zeros_before_the_first_coefficient(engine, oracle, small):
    """A last coefficient of 0, negated, stays below its prime."""
    elements, digits, *rest = arguments(oracle, small, 5, window=8, rows=1, columns=1, windows=1)
    elements[...] = 0
    digits[...] = 7
    check(engine, small, elements, digits, *rest)


def test_nothing_to_sum(engine, oracle, small):
    elements, digits, window, windows, starts = arguments(oracle, small, 6, window=256, rows=6)
    for given in (
        (elements, np.full_like(digits, -1), starts),
        (elements, digits[:0], starts),
        (elements, digits, np.array([3, 3], np.int64)),
        (elements[:0], digits[:, :0], np.zeros(2, np.int64)),
    ):
        found = engine.ring_window_sums(small, given[0], given[1], window, windows, given[2])
        assert found.shape == (1, windows, 1, 2, window)
        assert not found.any()
    assert engine.ring_window_sums(small, elements, digits, window, windows, starts[:1]).shape[0] == 0
    assert engine.ring_window_sums(small, elements[:, :0], digits, window, windows, starts).shape[2] == 0


def test_arrays_that_lie_otherwise_in_memory(engine, oracle, small):
    elements, digits, window, windows, starts = arguments(oracle, small, 7, window=256, rows=6, starts=[0, 2, 6])
    plain = expected(small, elements, digits, window, windows, starts)
    turned = np.ascontiguousarray(elements.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    spaced = np.repeat(starts, 3)[::3]
    found = engine.ring_window_sums(small, turned, np.asfortranarray(digits), window, windows, spaced)
    assert np.array_equal(found, plain)
