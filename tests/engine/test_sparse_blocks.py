"""Sparse exponents in dense blocks: every entry once, no block beyond its size, tables shared where that pays."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine import sparse_blocks
from hekat.engine.sparse_blocks import dense_blocks
from hekat.engine.sparse_exponents import SparseExponents


def exponents_of(bases_by_result: list[list[int]]) -> SparseExponents:
    """Entry i has the exponent i + 1, so that each can be told from the others."""
    bases = np.array([base for bases in bases_by_result for base in bases], np.int64)
    limbs = np.arange(1, bases.size + 1, dtype=np.uint64)[:, np.newaxis]
    return SparseExponents(limbs, bases, np.cumsum([0, *map(len, bases_by_result)]))


def entries_of(exponents: SparseExponents) -> tuple[list[int], set[tuple[int, int, int]]]:
    """The stops of all blocks, and (result, base, exponent) of all that is not zero in them."""
    stops, found = [0], set()
    for block in dense_blocks(exponents, exponents.bases):
        assert block.results.start == stops[-1]
        assert block.limbs.shape[:2] == (block.bases.size, block.results.stop - block.results.start)
        for row, column in zip(*block.limbs[..., 0].nonzero(), strict=True):
            found.add((block.results.start + column, int(block.bases[row]), int(block.limbs[row, column, 0])))
        stops.append(block.results.stop)
    return stops, found


@pytest.mark.parametrize("most_limbs", [1, 30, 10**6])
@pytest.mark.parametrize("base_count", [2, 50])
def test_every_entry_is_in_one_block(monkeypatch: pytest.MonkeyPatch, base_count: int, most_limbs: int) -> None:
    monkeypatch.setattr(sparse_blocks, "MAX_BLOCK_LIMBS", most_limbs)
    rng = np.random.default_rng([base_count, most_limbs])
    lists = [rng.integers(0, base_count, rng.integers(0, 9)).tolist() for _ in range(60)]
    stops, found = entries_of(exponents_of(lists))
    assert stops[-1] == 60
    numbers = iter(range(1, 10**6))
    assert found == {(result, base, next(numbers)) for result, bases in enumerate(lists) for base in bases}


def test_blocks_keep_to_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_blocks, "MAX_BLOCK_LIMBS", 100)
    exponents = exponents_of([list(range(10)) for _ in range(40)])
    stops, _ = entries_of(exponents)
    assert stops == [0, 10, 20, 30, 40]


def test_results_that_share_no_bases_stay_apart() -> None:
    stops, _ = entries_of(exponents_of([[3 * i, 3 * i + 1] for i in range(20)]))
    assert stops == list(range(21))


def test_one_result_may_be_larger_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_blocks, "MAX_BLOCK_LIMBS", 4)
    stops, found = entries_of(exponents_of([list(range(9))] * 9))
    assert stops == list(range(10))
    assert len(found) == 81
