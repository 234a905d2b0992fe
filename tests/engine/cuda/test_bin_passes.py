"""Passes of sums by bin take every segment, group and window once, in parts that fit."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.engine.cuda.test_ring_on_device import HOST, RingOnly

from hekat.engine.cuda import ring_cuda
from hekat.engine.cuda.bin_passes import BinPass, bin_passes
from hekat.engine.ring.parameters import Ring


@pytest.mark.parametrize("most_plaintexts", [1, 5, 12, 1000])
def test_every_plaintext_once(most_plaintexts):
    starts, group_rows, windows = [2, 9, 9, 40, 41], 4, 3
    seen, written = Counter(), {}
    for part in bin_passes(starts, group_rows, windows, most_plaintexts, most_groups=4):
        assert part.plaintext_count <= most_plaintexts
        for window in range(part.first_window, part.first_window + part.window_count):
            # The first pass writes, the others add.
            assert part.adds == ((part.segment, window) in written)
            written[part.segment, window] = True
            for group in range(part.first_group, part.first_group + part.group_count):
                seen[part.segment, window, group] += 1
    segments = {0: range(3), 1: range(0), 2: range(2, 10), 3: range(10, 11)}
    assert seen == {(s, w, group): 1 for s, groups in segments.items() for w in range(windows) for group in groups}
    assert set(written) == {(s, w) for s in segments for w in range(windows)}


def test_one_pass_where_all_fit():
    assert list(bin_passes([0, 6], 4, 3, 1000)) == [BinPass(0, 0, 6, 0, 2, 0, 3, False)]


def test_sums_in_many_passes_are_the_same(monkeypatch):
    """Three plaintexts to a pass: passes by window and by group, one segment without rows."""
    ring = Ring(1024, (12289, 40961))
    monkeypatch.setattr(ring_cuda, "MOST_PLAINTEXT_WORDS", 3 * 2 * 1024)
    rng = np.random.default_rng(3)
    elements = np.stack([rng.integers(0, p, (5, 2, 1024), np.uint64) for p in ring.primes], axis=2)
    digits = rng.integers(-1, 4 * 256, (3, 19)).astype(np.int32)
    arguments = ring, elements, digits, 256, 4, np.array([1, 17, 17, 19], np.int64)
    assert np.array_equal(RingOnly().ring_bin_sums(*arguments), HOST.ring_bin_sums(*arguments))
