"""Products with many rows in one ciphertext: exact or one unit above, at the bounds too; one slot is opened, masked."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import decrypt, encrypt
from hekat.scheme.paillier.row_packing import (
    MASK_BITS,
    RowPacking,
    arrange_columns,
    choose_row_packing,
    draw_masks,
    masked_products,
    open_slots,
    pack_rows,
    packed_products,
    unmask_slots,
)


def run_products(setting, columns, values, packing):
    """Both sides: products of integers, through encryption, mask and the one opened slot."""
    c = encrypt(setting.keys.public, pack_rows(values, packing), engine=setting.engine)
    c = c.reshape((packing.groups(len(values)), *values.shape[1:]))
    products = packed_products(arrange_columns(columns, packing), c, packing)
    assert products.shape == (columns.shape[0], *values.shape[1:])
    masks = draw_masks(products.size, packing, setting.engine)
    opened = decrypt(setting.keys.private, masked_products(products, masks, packing))
    return unmask_slots(open_slots(opened, packing), masks, packing)


def check_exact_or_one_above(found, columns, values):
    exact = np.asarray(columns, object) @ np.asarray(values, object)
    carries = np.array(found, object) - exact.ravel()
    assert set(carries.tolist()) <= {0, 1}


@pytest.mark.parametrize("wide", [None, 1, 3])
@pytest.mark.parametrize("row_count", [1, 2, 3, 4, 11])
def test_products_are_exact_or_one_unit_above(setting, row_count, wide):
    rng = np.random.default_rng(row_count)
    columns = rng.integers(-(2**18), 2**18, (5, row_count))
    values = rng.integers(-(2**40), 2**40, (row_count,) if wide is None else (row_count, wide))
    check_exact_or_one_above(run_products(setting, columns, values, RowPacking(3, 64)), columns, values)


@pytest.mark.parametrize("convert", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_sparse_columns(small, convert):
    rng = np.random.default_rng(7)
    columns = np.where(rng.random((4, 13)) < 0.3, rng.integers(-99, 99, (4, 13)), 0)
    values = rng.integers(-(2**30), 2**30, 13)
    arranged = arrange_columns(convert(columns), RowPacking(3, 48))
    assert arranged.nnz == np.count_nonzero(columns)
    np.testing.assert_array_equal(arranged.toarray(), arrange_columns(columns, RowPacking(3, 48)))
    check_exact_or_one_above(run_products(small, convert(columns), values, RowPacking(3, 48)), columns, values)


@given(st.lists(st.tuples(st.integers(-15, 15), st.integers(-63, 63)), min_size=1, max_size=9), st.integers(1, 3))
def test_any_values_up_to_the_bound(small, pairs, packed):
    columns = np.array([[x for x, _ in pairs]])
    values = np.array([d for _, d in pairs])
    slot_bits = (15 * 63 * len(pairs) + 1).bit_length() + 1
    check_exact_or_one_above(run_products(small, columns, values, RowPacking(packed, slot_bits)), columns, values)


@pytest.mark.parametrize("sign", [-1, 1])
def test_every_slot_at_its_bound_and_every_bit_of_the_mask(setting, sign):
    """The widest packing the key allows neither wraps nor meets its neighbour, whatever the mask."""
    public, bound = setting.keys.public, 2**40 - 2
    packing = choose_row_packing(public, bound, 10**9, 1)
    assert packing.row_count > 1
    assert packing.total_bits + MASK_BITS + 1 <= public.plaintext_space.bits
    with pytest.raises(BoundError, match="plaintext space"):  # one row more would have no room
        public.plaintext_space.check(
            pack_of_bits(RowPacking(packing.row_count + 1, packing.slot_bits).total_bits + MASK_BITS + 1)
        )
    # One value in the first slot or the last meets every coefficient on its side.
    columns, values = np.full((1, packing.row_count), 1), np.full(packing.row_count, sign * bound, object)
    values = np.where(np.arange(packing.row_count) % packing.row_count == 0, values, 0)
    c = encrypt(public, pack_rows(values, packing), engine=setting.engine)
    products = packed_products(arrange_columns(columns, packing), c, packing)
    largest = (1 << (packing.total_bits + MASK_BITS)) - 1
    for mask in (0, 1, largest // 3, largest):
        masks = np.frombuffer(mask.to_bytes(-(-largest.bit_length() // 64) * 8, "little"), np.uint64)[np.newaxis]
        opened = decrypt(setting.keys.private, masked_products(products, masks, packing))
        (found,) = unmask_slots(open_slots(opened, packing), masks, packing)
        assert found - sign * bound in (0, 1)


def pack_of_bits(bits):
    return PackedPlaintext(np.zeros((1, bits // 64 + 1), np.uint64), (1 << bits) - 1)


def test_only_one_slot_is_told(small):
    """Sums across rows stand in the other slots of a product: what the key's holder tells is as short as one slot."""
    packing, columns, values = RowPacking(3, 40), np.array([[1, 2, 3]]), np.array([10, 200, 3000])
    c = encrypt(small.keys.public, pack_rows(values, packing), engine=small.engine)
    products = packed_products(arrange_columns(columns, packing), c, packing)
    (whole,) = small.decrypt(products)
    slots = [whole >> (40 * slot) & (2**40 - 1) for slot in range(5)]
    assert slots == [10 * 3, 10 * 2 + 200 * 3, 10 + 400 + 9000, 200 + 6000, 3000]
    masks = draw_masks(1, packing, small.engine)
    told = open_slots(decrypt(small.keys.private, masked_products(products, masks, packing)), packing)
    assert told.shape == (1, 1)
    assert int(told[0, 0]) < 2**40
    assert unmask_slots(told, masks, packing)[0] - 9410 in (0, 1)


def test_masks_are_fresh_and_wider_than_all_slots(small):
    packing = RowPacking(2, 40)
    masks = draw_masks(500, packing, small.engine)
    top = packing.total_bits + MASK_BITS
    assert len({line.tobytes() for line in masks}) == 500
    values = [int.from_bytes(line.tobytes(), "little") for line in masks]
    assert max(values) < 1 << top
    # Half of them have the highest bit: 500 fair bits leave 250 +- 78 with odds below 10^-11.
    assert abs(sum(value >> (top - 1) for value in values) - 250) < 78


def test_fewer_rows_in_a_plaintext_for_more_columns_or_fewer_rows(setting):
    public = setting.keys.public
    few, many = (choose_row_packing(public, 2**60, 1024, columns).row_count for columns in (1, 2000))
    assert few >= many == 1
    assert choose_row_packing(public, 2**60, 8, 1).row_count == 1


def test_a_key_without_room_is_refused(small):
    with pytest.raises(BoundError, match="no room for a masked product"):
        choose_row_packing(small.keys.public, 2**450, 10, 1)


def test_a_value_beyond_its_slot_is_refused_without_it():
    with pytest.raises(BoundError) as caught:
        pack_rows(np.array([1, -(2**19)]), RowPacking(2, 20))
    assert str(2**19) not in str(caught.value)


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        (np.zeros((2, 1), np.uint64), "differ in number"),
        (np.zeros(1, np.uint64), "differ in number"),
        (np.full((1, 1), 2**40, np.uint64), "wider than agreed"),
    ],
)
def test_slots_that_do_not_fit_are_refused(small, slots, message):
    packing = RowPacking(2, 40)
    with pytest.raises(InputError, match=message):
        unmask_slots(slots, draw_masks(1, packing, small.engine), packing)
