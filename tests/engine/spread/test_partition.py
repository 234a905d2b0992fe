"""Cuts: every residue has one owner, every stretch meets all engines, and numbers among the owner's count up."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.spread.partition import STRETCH, Partition


@pytest.mark.parametrize("count", [0, 1, 2, 3, STRETCH - 1, STRETCH, 2 * STRETCH + 7])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (1 / 3,) * 3, (1 / 64, 63 / 64), (0.1, 0.2, 0.7)])
def test_every_stretch_is_cut_by_the_shares(count, shares):
    partition = Partition.by_shares(count, shares)
    assert partition.size == count
    assert sum(partition.counts.values()) == count
    for start in range(0, count, STRETCH):
        stretch = partition.owners[start : start + STRETCH]
        assert (np.diff(stretch.astype(int)) >= 0).all()
        for owner, share in enumerate(shares):
            assert abs(np.count_nonzero(stretch == owner) - share * stretch.size) <= 1


def test_positions_and_ranks():
    partition = Partition(np.array([1, 0, 1, 1, 0], np.uint8))
    assert partition.counts == {0: 2, 1: 3}
    assert partition.positions(0).tolist() == [1, 4]
    assert partition.positions(1).tolist() == [0, 2, 3]
    assert partition.positions(2).tolist() == []
    assert partition.ranks.tolist() == [0, 0, 1, 2, 1]


def test_whole_cuts():
    assert Partition.whole(3, 1).is_whole
    assert Partition.whole(3, 1).counts == {1: 3}
    assert Partition.whole(0, 1).counts == {0: 0}
    assert not Partition.by_shares(4, (0.5, 0.5)).is_whole
    assert Partition.whole(2, 0).is_like(Partition(np.zeros(2, np.uint8)))
    assert not Partition.whole(2, 0).is_like(Partition.whole(3, 0))
    assert not Partition.whole(2, 0).is_like(Partition.whole(2, 1))
