"""Sums by bins open to the integers that they should be, whatever the windows, segments, bins and blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheme.bin_sums.conftest import (
    RANGES,
    TOY_DEGREE,
    Exchange,
    centred,
    draw_exchange,
    layout_of,
    open_exchange,
    phases_of,
    sum_exchange,
)

from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.bin_sums import (
    BINS,
    BinSummer,
    SumLayout,
    conceal,
    encrypt_rows,
    generate_keys,
    open_answers,
)


@pytest.mark.parametrize(
    ("rows", "bin_counts", "columns", "window"),
    [
        ([1], [1], 1, 1),
        ([3000], [40], 3, 8),
        ([700, 0, 1, 4000, 0], [33, 5, 64, 100, 0], 4, 32),
        ([200, 300], [0, 7], 1, 2),
        ([90], [200], 2, 128),
    ],
)
def test_sums_are_exact(pair, engine, rows, bin_counts, columns, window) -> None:
    exchange = draw_exchange(sum(rows), rows, bin_counts, columns)
    opened = open_exchange(pair, exchange, layout_of(exchange, window), engine)
    assert opened.dtype == np.int64
    assert np.array_equal(opened, exchange.expected())


def test_segments_leave_with_the_block_that_completes_them(pair, engine) -> None:
    """Three blocks: a segment over all of them, empty ones between, and memory for one open segment."""
    layout = SumLayout(BINS, 64, 9000, RANGES)
    at_once = layout.rows_at_once
    exchange = draw_exchange(3, [at_once - 10, 2 * 64, 0, at_once, 70], [9, 70, 3, 64, 1], 2)
    found = sum_exchange(pair, exchange, layout, engine)
    assert [list(sums.segments) for sums in found] == [[0], [1, 2], [3, 4]]
    opened = [
        open_answers(pair.private, conceal(sums, layout, engine), exchange.rows[list(sums.segments)], engine)
        for sums in found
    ]
    assert np.array_equal(np.concatenate(opened), exchange.expected())


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_exchange_of_extreme_values_is_exact(toy, engine, data) -> None:
    pair = generate_keys(3, toy, engine)
    segments = data.draw(st.integers(1, 4))
    rows = data.draw(st.lists(st.integers(0, 90), min_size=segments, max_size=segments).filter(any))
    bin_counts = data.draw(st.lists(st.integers(0, 40), min_size=segments, max_size=segments))
    window = 1 << data.draw(st.integers(0, 4))
    low, high = data.draw(st.integers(-(2**24), 0)), data.draw(st.integers(1, 2**24))
    ranges = ((low, high), (-1, 0))
    exchange = draw_exchange(data.draw(st.integers(0, 2**32)), rows, bin_counts, data.draw(st.integers(1, 3)), ranges)
    if data.draw(st.booleans()):
        exchange = Exchange(
            np.tile(np.array([[high, -1]]), (sum(rows), 1)), exchange.digits, exchange.starts, exchange.bin_counts
        )
    layout = layout_of(exchange, window, toy, ranges)
    assert np.array_equal(open_exchange(pair, exchange, layout, engine), exchange.expected())


@pytest.mark.parametrize(("gradient_bits", "sent_bits"), [(4, 32), (12, 40), (18, 48)])
def test_sums_are_exact_at_every_width_of_an_answer(pair, engine, gradient_bits, sent_bits) -> None:
    largest = 1 << gradient_bits
    ranges = ((-largest, largest), (0, 2 * largest))
    exchange = draw_exchange(gradient_bits, [3000], [20], 2, ranges)
    for extreme in (-1, 0, 1):
        values = exchange.values if extreme == 0 else np.full_like(exchange.values, extreme * largest)
        values[:, 1] = np.abs(values[:, 1])
        of_extremes = Exchange(values, exchange.digits, exchange.starts, exchange.bin_counts)
        layout = layout_of(of_extremes, 8, BINS, ranges)
        assert layout.sent_bits == sent_bits
        assert np.array_equal(open_exchange(pair, of_extremes, layout, engine), of_extremes.expected())


def test_engines_sum_to_the_same_residues(toy) -> None:
    cpu, reference = get_engine("cpu"), get_engine("reference")
    pair = generate_keys(2, toy, cpu)
    exchange = draw_exchange(5, [150, 40], [11, 6], 2)
    layout = layout_of(exchange, 16, toy)
    block = encrypt_rows(pair.private, exchange.values, layout, cpu)
    sums = [
        BinSummer(pair.public, layout, exchange.starts, exchange.bin_counts, engine).add(block, exchange.digits)
        for engine in (cpu, reference)
    ]
    assert np.array_equal(sums[0].c1, sums[1].c1)
    assert np.array_equal(sums[0].c0, sums[1].c0)
    opened = open_answers(pair.private, conceal(sums[1], layout, reference), exchange.rows, reference)
    assert np.array_equal(opened, exchange.expected())


def test_sums_lie_where_they_should_by_independent_arithmetic(toy, engine) -> None:
    """Big integers, which know nothing of transforms and primes: Delta times the sum, and noise within its bound."""
    pair = generate_keys(2, toy, engine)
    exchange = draw_exchange(6, [500], [8], 1)
    layout = layout_of(exchange, 8, toy)
    assert len(exchange.values) > layout.rows_per_group == TOY_DEGREE // 8
    (sums,) = sum_exchange(pair, exchange, layout, engine)
    phases = phases_of(pair, sums, engine)
    for component, (phase, delta) in enumerate(zip(phases, layout.deltas, strict=True)):
        expected = exchange.expected()[:, component].tolist()
        noise = [centred(x - delta * m, toy.modulus) for x, m in zip(phase, expected, strict=False)]
        assert 0 < max(map(abs, noise)) <= layout.noise


def test_rows_that_do_not_fit_are_refused(pair, engine) -> None:
    layout = SumLayout(BINS, 8, 100, RANGES)
    with pytest.raises(BoundError, match="passes its bound"):
        encrypt_rows(pair.private, np.array([[9, 0]]), layout, engine)
    with pytest.raises(BoundError, match="passes its bound"):
        encrypt_rows(pair.private, np.array([[0, -1]]), layout, engine)
    for values in (np.zeros((3, 1), np.int64), np.zeros((0, 2), np.int64), np.zeros((3, 2), np.int32)):
        with pytest.raises(InputError, match="cannot be encrypted"):
            encrypt_rows(pair.private, values, layout, engine)
    with pytest.raises(InputError, match="wrong layout"):
        encrypt_rows(pair.private, np.zeros((layout.rows_at_once + 1, 2), np.int64), layout, engine)
    with pytest.raises(InputError, match="more components"):
        encrypt_rows(pair.private, np.zeros((1, 3), np.int64), SumLayout(BINS, 8, 100, (*RANGES, (0, 1))), engine)


def test_blocks_and_digits_that_do_not_follow_are_refused(pair, engine) -> None:
    layout = SumLayout(BINS, 8, 1000, RANGES)
    values, digits = np.zeros((600, 2), np.int64), np.zeros((1, 600), np.int32)
    whole = encrypt_rows(pair.private, values[:512], layout, engine)
    part = encrypt_rows(pair.private, values[:500], layout, engine)

    def summer(rows: int = 1000) -> BinSummer:
        return BinSummer(pair.public, layout, np.array([0, 600, rows]), np.array([9, 1]), engine)

    with pytest.raises(InputError, match="does not follow"):
        summer().add(part, digits[:, :500])
    with pytest.raises(InputError, match="does not follow"):
        summer(600).add(encrypt_rows(pair.private, np.zeros((601, 2), np.int64), layout, engine), digits)
    with pytest.raises(InputError, match="does not follow"):
        summer().add(encrypt_rows(pair.private, values, SumLayout(BINS, 8, 999, RANGES), engine), digits)
    for wrong in (digits[:, :511], digits[0, :512], digits[:, :512].astype(np.int64), digits[:, :512] + 9):
        with pytest.raises(InputError, match="digits do not fit"):
            summer().add(whole, wrong.astype(np.int32) if wrong.dtype == np.int32 else wrong)
    with pytest.raises(InputError, match="digits do not fit"):
        summer().add(whole, digits[:, :512] - 2)
    foreign = encrypt_rows(generate_keys(2, engine=engine).private, values[:512], layout, engine)
    with pytest.raises(KeyRefusedError, match="another key"):
        summer().add(foreign, digits[:, :512])
    for starts, counts in (([0, 5, 3], [1, 1]), ([1, 2], [1]), ([0, 5], [1, 1]), ([0, 5], [-1]), ([0, 1001], [1])):
        with pytest.raises(InputError, match="segments refused"):
            BinSummer(pair.public, layout, np.array(starts), np.array(counts), engine)


def test_answers_of_another_key_or_beyond_the_rows_are_refused(pair, engine) -> None:
    exchange = draw_exchange(8, [400], [5], 1)
    layout = layout_of(exchange, 8)
    (sums,) = sum_exchange(pair, exchange, layout, engine)
    answers = conceal(sums, layout, engine)
    with pytest.raises(KeyRefusedError, match="another key"):
        open_answers(generate_keys(2, engine=engine).private, answers, exchange.rows, engine)
    with pytest.raises(InputError, match="none of these rows"):
        open_answers(pair.private, answers, np.array([1]), engine)
    with pytest.raises(InputError, match="rows of segments"):
        open_answers(pair.private, answers, np.array([1, 2]), engine)
