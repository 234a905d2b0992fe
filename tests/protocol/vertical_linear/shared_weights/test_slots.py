"""Slots: how many fit below the margin, packing is undone by reading, and what rows and columns meet in which slot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.errors import BoundError
from hekat.protocol.shares.share_array import random_shares
from hekat.protocol.vertical_linear.shared_weights.cross_products import slots
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import (
    MARGIN_BITS,
    MAX_RESULTS,
    SlotLayout,
    check_result_count,
    choose_slots,
    gather_rows,
    read_slots,
    spread_columns,
    spread_factors,
)

RING = 1 << 128


@pytest.mark.quick_values
@pytest.mark.parametrize("key_bits", [1024, 2048, 3072])
@pytest.mark.parametrize("gap_bits", [0, MARGIN_BITS])
@pytest.mark.parametrize("value_bits", [40, 73, 127, 128, 163, 261])
def test_the_largest_plaintext_leaves_the_margin_free(value_bits, gap_bits, key_bits):
    layout = SlotLayout(value_bits, slots.most_slots(value_bits, key_bits, gap_bits), key_bits, gap_bits)
    greatest = [((1 << value_bits) - 1) << (layout.slot_bits * slot) for slot in range(layout.slot_count)]
    # The least modulus of this size: V + R passes it with odds of V / n.
    assert (sum(greatest) + layout.offset) << MARGIN_BITS < 1 << (key_bits - 1)
    assert layout.slot_bits >= max(128, value_bits + 1 + gap_bits)
    with pytest.raises(BoundError, match="do not fit"):
        SlotLayout(value_bits, layout.slot_count + 1, key_bits, gap_bits)


@pytest.mark.parametrize(("key_bits", "slot_bits", "fitting"), [(1024, 316, 2), (2048, 493, 3)])
def test_a_modulus_may_be_no_more_than_its_top_bit(key_bits, slot_bits, fitting):
    """One slot more would fill all bits of the key to the margin: a plaintext too large for 2^(key_bits - 1)."""
    assert slot_bits * (fitting + 1) == key_bits - MARGIN_BITS
    assert slots.most_slots(slot_bits - 1, key_bits) == fitting
    assert slots.most_slots(slot_bits - 2, key_bits) == fitting + 1


@pytest.mark.parametrize("value_bits", [73, 163, 261])
def test_slots_are_read_where_they_were_placed(value_bits):
    layout = SlotLayout(value_bits, slots.most_slots(value_bits, 2048), 2048)
    rng = np.random.default_rng(value_bits)
    values = [int.from_bytes(rng.bytes(33), "little") % (1 << value_bits) for _ in range(layout.slot_count)]
    packed = sum(value << (layout.slot_bits * slot) for slot, value in enumerate(values))
    read = ints_from_limbs(read_slots(limbs_from_ints([packed], 32), layout))
    assert read == [value % RING for value in values]


def test_what_does_not_fit_is_refused():
    assert slots.most_slots(1000, 1024) == 0
    assert slots.most_slots(10, 64) == 0
    with pytest.raises(BoundError, match="13 x 164 bits in 1971"):
        SlotLayout(163, 13, 2048)
    with pytest.raises(BoundError, match="do not fit"):
        choose_slots(2000, 2048, 10, 10)


def test_as_many_results_as_would_lose_one_are_refused():
    assert MAX_RESULTS == 2**36
    check_result_count(MAX_RESULTS - 1)
    with pytest.raises(BoundError, match="too many results"):
        check_result_count(MAX_RESULTS)


def test_few_columns_are_packed_tightly_and_many_are_not():
    assert choose_slots(163, 2048, 1024, 13).slot_count == 12
    assert choose_slots(163, 3072, 1024, 13).slot_count == 18
    assert choose_slots(170, 2048, 1024, 20_000).slot_count == 1
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
