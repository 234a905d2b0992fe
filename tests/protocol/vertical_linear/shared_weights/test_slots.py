"""Slots: extremes never reach a neighbour, masks are as wide as the statement says, packing is undone by reading."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.engine.limbs import ints_from_limbs
from hekat.errors import BoundError
from hekat.protocol.vertical_linear.shared_weights import slots
from hekat.protocol.vertical_linear.shared_weights.shares import random_shares
from hekat.protocol.vertical_linear.shared_weights.slots import (
    SlotLayout,
    choose_slots,
    draw_masks,
    gather_rows,
    read_slots,
    spread_columns,
    spread_factors,
)

RING = 1 << 128


@pytest.mark.parametrize("value_bits", [73, 163, 261])
@pytest.mark.parametrize("fill", [0, 1])
def test_extreme_values_and_masks_stay_in_their_slots(monkeypatch, value_bits, fill):
    layout = SlotLayout(value_bits, slots.most_slots(value_bits, 2048), 2048)
    extreme = np.uint64(2**64 - 1) if fill else np.uint64(0)

    def extreme_bits(count, bits):
        limbs = np.full((count, -(-bits // 64)), extreme)
        limbs[:, -1] >>= np.uint64(-bits % 64)
        return limbs

    monkeypatch.setattr(slots, "random_bits", extreme_bits)
    masks, own = draw_masks(1, layout)
    (mask,) = ints_from_limbs(masks.limbs)
    greatest = (1 << value_bits) - 1
    for signs in (
        [1] * layout.slot_count,
        [-1] * layout.slot_count,
        [(-1) ** slot for slot in range(layout.slot_count)],
    ):
        values = [sign * greatest for sign in signs]
        packed = mask + sum(value << (layout.slot_bits * slot) for slot, value in enumerate(values))
        assert 0 < packed <= layout.bound < 1 << 2046
        limbs = np.frombuffer(packed.to_bytes(256, "little"), "<u8").reshape(1, 32)
        opened = ints_from_limbs(read_slots(limbs, layout))
        kept = ints_from_limbs(own)
        assert [(a + b) % RING for a, b in zip(opened, kept, strict=True)] == [value % RING for value in values]


def test_masks_are_80_bits_wider_than_what_they_hide():
    layout = SlotLayout(163, 8, 2048)
    masks, _ = draw_masks(500, layout)
    low = (1 << layout.slot_bits) - 1
    drawn = [(mask >> (layout.slot_bits * slot)) & low for mask in ints_from_limbs(masks.limbs) for slot in range(8)]
    offset = 1 << (163 + 80)
    assert all(offset <= mask < 2 * offset for mask in drawn)
    assert len(set(drawn)) == len(drawn)
    for bit in range(163 + 80):
        ones = sum(mask >> bit & 1 for mask in drawn)
        assert abs(ones - 2000) < 6 * 32  # six standard deviations of 4,000 fair coins


def test_what_does_not_fit_is_refused():
    assert slots.most_slots(1000, 1024) == 0
    with pytest.raises(BoundError, match="do not fit"):
        SlotLayout(163, 9, 2048)
    with pytest.raises(BoundError, match="do not fit"):
        choose_slots(2000, 2048, 10, 10)


def test_few_columns_are_packed_tightly_and_many_are_not():
    assert choose_slots(163, 2048, 1024, 13).slot_count == 8
    assert choose_slots(170, 2048, 1024, 5000).slot_count == 1
    assert choose_slots(163, 2048, 3, 1).slot_count == 3


@pytest.mark.parametrize("rows", [1, 7, 8, 17])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_side_by_side_meet_factors_of_their_slot(rows, sparse):
    rng = np.random.default_rng(rows)
    matrix = rng.integers(-50, 50, (rows, 3)) * (rng.random((rows, 3)) < 0.6)
    gathered = gather_rows(csr_array(matrix) if sparse else matrix, 4)
    assert gathered.shape == (-(-rows // 4), 12)
    factors = rng.integers(0, 100, (3, 2))
    layout = SlotLayout(100, 4, 1024)
    placed = np.concatenate([factors.astype(object) << (layout.slot_bits * slot) for slot in range(4)])
    shares = np.zeros((3, 2, 2), np.uint64)
    shares[..., 0] = factors
    assert ints_from_limbs(spread_factors(shares, layout).limbs) == [int(one) for one in placed.ravel()]
    dense = gathered.toarray() if sparse else gathered
    packed = dense.astype(object) @ placed
    expected = matrix @ factors
    for row in range(rows):
        whole = [
            sum(int(expected[r, j]) << (layout.slot_bits * (r % 4)) for r in range(rows) if r // 4 == row // 4)
            for j in range(2)
        ]
        assert [int(one) for one in packed[row // 4]] == whole


def test_columns_of_a_row_share_a_plaintext():
    values = np.array([[-4, 3, 0, 7, -8], [1, 2, 3, 4, 5]])
    layout = SlotLayout(60, 2, 512)
    found = ints_from_limbs(spread_columns(values, 3, layout).limbs)
    width = layout.slot_bits
    raised = values + 8
    expected = [
        int(row[first]) + (int(row[first + 1]) << width if first + 1 < 5 else 0)
        for row in raised
        for first in (0, 2, 4)
    ]
    assert found == expected


def test_factors_hold_whole_shares():
    shares = random_shares((5, 1))
    layout = SlotLayout(163, 8, 2048)
    spread = ints_from_limbs(spread_factors(shares, layout).limbs)
    whole = ints_from_limbs(shares)
    assert spread == [value << (layout.slot_bits * slot) for slot in range(8) for value in whole]
    assert max(spread) <= spread_factors(shares, layout).bound
