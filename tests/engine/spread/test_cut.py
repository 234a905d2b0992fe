"""Cuts: every residue has one owner, every stretch meets all engines, and numbers among the owner's count up."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.spread.cut import STRETCH, Cut


@pytest.mark.parametrize("count", [0, 1, 2, 3, STRETCH - 1, STRETCH, 2 * STRETCH + 7])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (1 / 3,) * 3, (1 / 64, 63 / 64), (0.1, 0.2, 0.7)])
def test_every_stretch_is_cut_by_the_shares(count, shares):
    cut = Cut.by_shares(count, shares)
    assert cut.size == count
    assert sum(cut.counts.values()) == count
    for start in range(0, count, STRETCH):
        stretch = cut.owners[start : start + STRETCH]
        assert (np.diff(stretch.astype(int)) >= 0).all()
        for owner, share in enumerate(shares):
            assert abs(np.count_nonzero(stretch == owner) - share * stretch.size) <= 1


def test_positions_and_ranks():
    cut = Cut(np.array([1, 0, 1, 1, 0], np.uint8))
    assert cut.counts == {0: 2, 1: 3}
    assert cut.positions(0).tolist() == [1, 4]
    assert cut.positions(1).tolist() == [0, 2, 3]
    assert cut.positions(2).tolist() == []
    assert cut.ranks.tolist() == [0, 0, 1, 2, 1]


def test_whole_cuts():
    assert Cut.whole(3, 1).is_whole
    assert Cut.whole(3, 1).counts == {1: 3}
    assert Cut.whole(0, 1).counts == {0: 0}
    assert not Cut.by_shares(4, (0.5, 0.5)).is_whole
    assert Cut.whole(2, 0).is_like(Cut(np.zeros(2, np.uint8)))
    assert not Cut.whole(2, 0).is_like(Cut.whole(3, 0))
    assert not Cut.whole(2, 0).is_like(Cut.whole(2, 1))
