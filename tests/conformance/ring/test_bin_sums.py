"""Conformance: sums of elements times sparse plaintexts, against plaintexts evaluated at each root on its own."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from tests.conformance.ring.test_transform import reversed_bits


@cache
def roots_of_slots(ring):
    """For each prime the powers of psi, and for all of them the power that each slot stands for: 2 brv(j) + 1."""
    powers = []
    for p, root in zip(ring.primes, ring.roots, strict=True):
        row = [1]
        for _ in range(2 * ring.degree - 1):
            row.append(row[-1] * root % p)
        powers.append(np.array(row, np.uint64))
    return powers, np.array([2 * reversed_bits(j, ring.degree) + 1 for j in range(ring.degree)])


def transformed(ring, exponents):
    """The transform of the sum of X^e: each slot's power by itself."""
    powers, odd = roots_of_slots(ring)
    exponents, counts = np.unique(np.asarray(exponents) % (2 * ring.degree), return_counts=True)
    rows = []
    for p, row in zip(ring.primes, powers, strict=True):
        total = np.zeros(ring.degree, np.uint64)
        for e, count in zip(exponents.tolist(), counts.tolist(), strict=True):
            term = row[odd * e % (2 * ring.degree)]
            # A residue below 2^50 goes 2^14 times into a word.
            for some in [4096] * (count // 4096) + [count % 4096]:
                total = (total + term * np.uint64(some)) % np.uint64(p)
        rows.append(total)
    return np.array(rows)


def expected(ring, elements, digits, window, window_count, starts):
    primes = np.array(ring.primes, object)[:, np.newaxis]
    shape = (len(starts) - 1, window_count, *elements.shape[1:])
    sums, group_rows = np.zeros(shape, object), ring.degree // window
    for s, (first, end) in enumerate(pairwise(starts.tolist())):
        for group in range(len(elements)):
            rows = np.arange(max(first, group * group_rows), max(first, min(end, (group + 1) * group_rows)))
            for w in range(window_count):
                exponents = digits[:, rows] - w * window - (rows % group_rows) * window
                exponents = exponents[digits[:, rows] // window == w]
                if exponents.size:
                    sums[s, w] += elements[group].astype(object) * transformed(ring, exponents)
    return (sums % primes).astype(np.uint64)


def arguments(oracle, ring, seed, *, window, rows, columns=3, components=1, windows=2, starts=None):
    """Random arguments; a fifth of the digits are absent."""
    rng = np.random.default_rng([seed, ring.degree])
    group_count = -(-rows // (ring.degree // window))
    elements = oracle.random(ring, (group_count, components), seed)
    digits = rng.integers(0, window * windows, (columns, rows)).astype(np.int32)
    digits[rng.random(digits.shape) < 0.2] = -1
    return elements, digits, window, windows, np.array([0, rows] if starts is None else starts, np.int64)


def check(engine, ring, *given):
    found = engine.ring_bin_sums(ring, *given)
    assert found.dtype == np.uint64
    assert np.array_equal(found, expected(ring, *given))


@pytest.fixture
def small(oracle):
    return oracle.make_ring(1024, oracle.primes_below(48, 1024, 2))


@pytest.mark.quick_values
def test_every_ring(engine, ring, oracle):
    """Segments that begin, meet and end within groups, one of them empty, and rows that belong to none."""
    window = ring.degree // 4
    check(engine, ring, *arguments(oracle, ring, 1, window=window, rows=11, components=2, starts=[1, 6, 6, 9]))


@pytest.mark.parametrize("power", [46, 47, 48, 49, 50])
def test_primes_around_the_size_that_leaves_room(engine, oracle, power):
    """Of 48 bits and fewer, sums in between stay unreduced; the highest elements and many equal places."""
    ring = oracle.make_ring(1024, oracle.primes_below(power, 1024, 1))
    elements, digits, *rest = arguments(oracle, ring, 2, window=128, rows=16, columns=8)
    elements[...] = oracle.primes(ring) - np.uint64(1)
    digits[1:4] = digits[0]
    check(engine, ring, elements, digits, *rest)
    # With all terms at the first place each level adds 2 p to the last slot, and takes nothing from it.
    digits[...] = 0
    check(engine, ring, elements, digits, *rest)


@pytest.mark.quick_values
@pytest.mark.parametrize("degree", [2048, 4096, 8192])
@pytest.mark.parametrize("power", [48, 50])
def test_highest_sums_of_each_degree(engine, oracle, degree, power):
    ring = oracle.make_ring(degree, oracle.primes_below(power, degree, 1))
    elements, *rest = arguments(oracle, ring, 3, window=4, rows=60, columns=20, windows=1)
    elements[...] = oracle.primes(ring) - np.uint64(1)
    check(engine, ring, elements, *rest)


@pytest.mark.parametrize(
    ("window", "rows"), [(1, 1), (1, 37), (2, 600), (512, 3), (512, 4), (512, 5), (1024, 1), (1024, 3)]
)
def test_windows_from_one_to_the_degree(engine, oracle, small, window, rows):
    """Groups of all rows to one row; the last group full, and not."""
    check(engine, small, *arguments(oracle, small, 4, window=window, rows=rows, columns=2))


@pytest.mark.quick_values
@pytest.mark.parametrize("components", range(1, 8))
def test_components(engine, oracle, small, components):
    given = arguments(oracle, small, 5, window=256, rows=6, components=components)
    check(engine, small, *given)


def test_equal_places_add_up(engine, oracle):
    """Columns with the same digit, up to more of them than are summed before a reduction."""
    # More than 2^14 residues just below 2^50 pass 2^64.
    ring = oracle.make_ring(1024, oracle.primes_below(50, 1024, 1))
    for columns in (2, 4096, 4097, 20001):
        elements, digits, *rest = arguments(oracle, ring, 6, window=1024, rows=1, columns=columns)
        digits[...] = 1023
        check(engine, ring, elements, digits, *rest)


def test_digits_that_cancel(engine, oracle, small):
    """X^(i - jW) for i = W - 1 of one row and i = W - 1 of all others never meet; a whole turn is -1."""
    elements, digits, window, windows, starts = arguments(oracle, small, 7, window=512, rows=2, columns=1, windows=1)
    for digit in (0, 511):
        digits[...] = digit
        check(engine, small, elements, digits, window, windows, starts)


@pytest.mark.quick_values
@pytest.mark.parametrize(("components", "groups"), [(1, 511), (1, 513), (7, 73), (7, 74), (7, 147)])
def test_many_groups(engine, oracle, small, components, groups):
    """Around the number of groups that stay in a cache, after which sums are reduced."""
    count = 2 if engine.name == "reference" else groups
    elements, digits, *rest = arguments(
        oracle, small, 8, window=1024, rows=count, columns=2, components=components, windows=1
    )
    elements[...] = oracle.primes(small) - np.uint64(1)
    check(engine, small, elements, digits, *rest)


def test_nothing_to_sum(engine, oracle, small):
    elements, digits, window, windows, starts = arguments(oracle, small, 9, window=256, rows=6)
    shape = (windows, 1, *small.element_shape)
    digits_of_none = np.full_like(digits, -1)
    for given in (
        (elements, digits_of_none, starts),
        (elements, digits[:0], starts),
        (elements, digits, np.array([3, 3], np.int64)),
        (elements[:0], digits[:, :0], np.zeros(2, np.int64)),
    ):
        found = engine.ring_bin_sums(small, given[0], given[1], window, windows, given[2])
        assert found.shape == (1, *shape)
        assert not found.any()
    assert engine.ring_bin_sums(small, elements, digits, window, windows, starts[:1]).shape == (0, *shape)
    assert engine.ring_bin_sums(small, elements[:, :0], digits, window, windows, starts).shape == (
        1,
        windows,
        0,
        2,
        1024,
    )


def test_arrays_that_lie_otherwise_in_memory(engine, oracle, small):
    elements, digits, window, windows, starts = arguments(oracle, small, 10, window=256, rows=6, starts=[0, 2, 6])
    plain = expected(small, elements, digits, window, windows, starts)
    turned = np.ascontiguousarray(elements.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    by_row = np.asfortranarray(digits)
    by_row.flags.writeable = False
    spaced = np.repeat(starts, 3)[::3]
    before = elements.copy(), digits.copy()
    assert np.array_equal(engine.ring_bin_sums(small, turned, by_row, window, windows, spaced), plain)
    assert np.array_equal(elements, before[0])
    assert np.array_equal(digits, before[1])


def test_coefficients_are_the_sums_of_rows_by_bin(engine, oracle, small):
    """What the operation is for: values of rows, one to a coefficient, are summed by segment and digit."""
    window, windows, columns, rows, components = 64, 2, 3, 40, 2
    group_rows = small.degree // window
    rng = np.random.default_rng(11)
    values = rng.integers(-1000, 1000, (components, rows))
    digits = rng.integers(-1, window * windows, (columns, rows)).astype(np.int32)
    starts = np.array([0, 7, 31, 40], np.int64)
    coefficients = np.zeros((-(-rows // group_rows), components, small.degree), np.int64)
    for row in range(rows):
        coefficients[row // group_rows, :, row % group_rows * window] = values[:, row]
    elements = engine.ring_ntt(small, oracle.lift(small, coefficients))
    sums = engine.ring_intt(small, engine.ring_bin_sums(small, elements, digits, window, windows, starts))
    found = oracle.integers(small, sums)[..., :window]
    for s, (first, end) in enumerate(pairwise(starts.tolist())):
        for c in range(components):
            totals = np.zeros(window * windows, np.int64)
            for column in digits[:, first:end]:
                np.add.at(totals, column[column >= 0], values[c, first:end][column >= 0])
            expected_sums = [int(total) % small.modulus for total in totals]
            assert found[s, :, c].ravel().tolist() == expected_sums
