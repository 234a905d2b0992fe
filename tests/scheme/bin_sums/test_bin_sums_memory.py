"""What sums take of memory is known beforehand: never less than they take, and not several times as much."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.scheme.bin_sums.conftest import draw_exchange, layout_of

from hekat.scheme.bin_sums import BINS, BinSummer, conceal, encrypt_rows, generate_keys, working_bytes
from hekat.wire.bin_sums import read_rows, write_answers, write_rows


@pytest.mark.parametrize(
    ("window", "rows", "bin_counts"),
    [
        pytest.param(1, [300, 200], [90, 90], id="an answer for each bin"),
        pytest.param(1, [500, 40, 40, 40], [120, 2, 2, 2], id="one large node sets the windows of small ones"),
        pytest.param(8, [900, 900], [300, 300], id="several blocks"),
        pytest.param(64, [200], [64], id="one answer"),
    ],
)
def test_sums_take_at_most_what_is_said_before_they_begin(window: int, rows: list[int], bin_counts: list[int]) -> None:
    exchange = draw_exchange(5, rows, bin_counts, 3)
    layout, pair = layout_of(exchange, window), generate_keys(exchange.values.shape[1])
    said = working_bytes(layout, exchange.starts, exchange.bin_counts)
    most = 0
    summer = BinSummer(pair.public, layout, exchange.starts, exchange.bin_counts)
    for start in range(0, len(exchange.values), layout.rows_at_once):
        at = slice(start, start + layout.rows_at_once)
        data, digits = write_rows(encrypt_rows(pair.private, exchange.values[at], layout)), exchange.digits[:, at]
        tracemalloc.start()
        try:
            write_answers(conceal(summer.add(read_rows(data, pair.public, layout), digits), layout))
            most = max(most, tracemalloc.get_traced_memory()[1] + len(data))
        finally:
            tracemalloc.stop()
    assert said / 4 < most <= said


def test_a_narrower_window_takes_more_in_proportion() -> None:
    exchange = draw_exchange(6, [4096], [1000], 4)
    said = [working_bytes(layout_of(exchange, window), exchange.starts, exchange.bin_counts) for window in (1, 8)]
    assert said[0] > 6 * said[1]
    assert said[0] > 1000 * BINS.degree * 32


def test_nodes_without_bins_take_the_block_alone() -> None:
    exchange = draw_exchange(7, [10], [0], 1)
    layout = layout_of(exchange, 4)
    assert working_bytes(layout, np.array([0, 10]), np.array([0])) < 1 << 20
