"""Batches: every row once, sizes that differ by one at most, the same in every version and run."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hekat.protocol.vertical.batches import batch_count, draw_batches


@given(rows=st.integers(0, 400), batch_rows=st.integers(0, 500), seed=st.integers(0, 2**63 - 1))
def test_every_row_lies_in_one_batch_of_nearly_equal_size(rows: int, batch_rows: int, seed: int) -> None:
    batches = draw_batches(rows, batch_rows, seed)
    assert sorted(np.concatenate([*batches, np.empty(0, np.int64)]).tolist()) == list(range(rows))
    if rows:
        sizes = [len(batch) for batch in batches]
        assert len(batches) == batch_count(rows, batch_rows)
        assert max(sizes) <= (batch_rows or rows)
        assert max(sizes) - min(sizes) <= 1
        assert all((np.diff(batch) > 0).all() for batch in batches)


def test_batches_are_those_of_every_other_version() -> None:
    rows = np.concatenate(draw_batches(1000, 64, 7)).astype("<i8")
    assert hashlib.sha256(rows.tobytes()).hexdigest()[:16] == "1acedc2fb3e2b55d"


def test_another_seed_or_row_count_draws_others() -> None:
    first = draw_batches(1000, 500, 1)[0]
    assert not np.array_equal(first, draw_batches(1000, 500, 2)[0])
    # Half of the rows are drawn; were batches cut in order, the first would be the rows below 500.
    assert 150 < (first < 500).sum() < 350
