"""Products with many rows in one ciphertext: exact, at the bounds one unit off at most; one masked slot is told."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.errors import BoundError, InputError
from hekat.scheme.paillier import add, add_plain, decrypt, encrypt
from hekat.scheme.paillier.row_packing import (
    MARGIN_BITS,
    RowPacking,
    arrange_columns,
    choose_row_packing,
    open_slots,
    pack_rows,
    packed_products,
    place_products,
    unmask_slots,
)
from hekat.scheme.paillier.twos_complement import plaintext_from_ints


def encrypt_rows(setting, values, packing):
    c = encrypt(setting.keys.public, pack_rows(values, packing), engine=setting.engine)
    return c.reshape((packing.groups(len(values)), *values.shape[1:]))


def open_masked(setting, products, packing, masks=None):
    """What comes of products through masks and the one told slot."""
    public = setting.keys.public
    if masks is None:
        masks = setting.engine.to_host(setting.engine.random_below(products.size, public.n))
    flat = products.reshape((products.size,))
    signed = [setting.centred(mask) for mask in ints_from_limbs(masks)]
    masked = add_plain(flat, plaintext_from_ints(signed, public.plaintext_space.bound))
    slots = open_slots(decrypt(setting.keys.private, masked).limbs, public, packing)
    return unmask_slots(slots, masks, packing)


def run_products(setting, columns, values, packing):
    products = packed_products(arrange_columns(columns, packing), encrypt_rows(setting, values, packing), packing)
    assert products.shape == (columns.shape[0], *values.shape[1:])
    return open_masked(setting, products, packing)


def exact_products(columns, values):
    return (np.asarray(columns, object) @ np.asarray(values, object)).ravel().tolist()


@pytest.mark.quick_values
@pytest.mark.parametrize("wide", [None, 1, 3])
@pytest.mark.parametrize("row_count", [1, 2, 3, 4, 11])
def test_products_are_exact_where_slots_have_room(setting, row_count, wide):
    """Sums of 28 bits in slots of 80: one comes out a unit off with odds of 2^-51."""
    rng = np.random.default_rng(row_count)
    columns = rng.integers(-(2**8), 2**8, (5, row_count))
    values = rng.integers(-(2**16), 2**16, (row_count,) if wide is None else (row_count, wide))
    assert run_products(setting, columns, values, RowPacking(3, 80)) == exact_products(columns, values)


@pytest.mark.parametrize("convert", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_sparse_columns(small, convert):
    rng = np.random.default_rng(7)
    columns = np.where(rng.random((4, 13)) < 0.3, rng.integers(-99, 99, (4, 13)), 0)
    values, packing = rng.integers(-(2**16), 2**16, 13), RowPacking(3, 80)
    arranged = arrange_columns(convert(columns), packing)
    assert arranged.nnz == np.count_nonzero(columns)
    np.testing.assert_array_equal(arranged.toarray(), arrange_columns(columns, packing))
    assert run_products(small, convert(columns), values, packing) == exact_products(columns, values)


@given(st.lists(st.tuples(st.integers(-15, 15), st.integers(-63, 63)), min_size=1, max_size=9), st.integers(1, 3))
def test_any_values_in_tight_slots_are_a_unit_off_at_most(small, pairs, packed):
    columns, values = np.array([[x for x, _ in pairs]]), np.array([d for _, d in pairs])
    packing = RowPacking(packed, (15 * 63 * len(pairs) + 1).bit_length() + 1)
    (found,) = run_products(small, columns, values, packing)
    assert abs(found - exact_products(columns, values)[0]) <= 1


@pytest.mark.parametrize("sign", [-1, 1])
def test_every_slot_at_its_bound_under_masks_of_all_kinds(setting, sign):
    """The widest packing the key allows: products at the bound, and what carries into their slot, are told apart."""
    public, bound = setting.keys.public, 2**40 - 2
    packing = choose_row_packing(public, bound, 10**9, 1)
    assert packing.row_count > 1
    # A product takes a slot for each row and one less for what lies above.
    for row_count, fits in ((packing.row_count, True), (packing.row_count + 1, False)):
        assert ((2 * row_count - 1) * packing.slot_bits <= public.bits - MARGIN_BITS) is fits
    values = np.where(np.arange(packing.row_count) == 0, sign * bound, 0)
    products = packed_products(
        arrange_columns(np.ones((1, packing.row_count), np.int64), packing),
        encrypt_rows(setting, values, packing),
        packing,
    )
    low = 1 << packing.first_bit
    middle = public.n // 2 // low * low  # far from 0 and n: a sum that wraps has odds of 2^-80, and no slot to find
    for mask in (middle, middle - 1, middle + 1, middle + low // 2, middle + low // 2 - 1):
        masks = limbs_from_ints([mask], public.n_modulus.limb_count)
        (found,) = open_masked(setting, products, packing, masks)
        # Below the slot lie sums as large as this one: by the mask they carry, borrow, or do neither.
        assert abs(found - sign * bound) <= 1


def test_only_one_slot_is_told(small):
    """Sums across rows stand in the other slots of a product: what the key's holder tells is as short as one slot."""
    packing, columns, values = RowPacking(3, 60), np.array([[1, 2, 3]]), np.array([10, 200, 3000])
    products = packed_products(arrange_columns(columns, packing), encrypt_rows(small, values, packing), packing)
    (whole,) = small.decrypt(products)
    slots = [whole >> (60 * slot) & (2**60 - 1) for slot in range(5)]
    assert slots == [10 * 3, 10 * 2 + 200 * 3, 10 + 400 + 9000, 200 + 6000, 3000]
    told = open_slots(decrypt(small.keys.private, products).limbs, small.keys.public, packing)
    assert told.tolist() == [[9410]]


def test_what_the_keys_holder_opens_is_read_mod_n(small):
    """A masked product above n/2 decrypts to a negative number: its slot is that of the number from 0 to n - 1."""
    n, packing = small.keys.public.n, RowPacking(2, 60)
    opened = decrypt(small.keys.private, small.encrypt([-3]))
    assert ints_from_limbs(open_slots(opened.limbs, small.keys.public, packing)) == [(n - 3) >> 60 & (2**60 - 1)]


def test_products_in_the_clear_are_added_in_their_slot(small):
    packing, columns, values = RowPacking(3, 60), np.array([[1, 2, 3]]), np.array([10, 200, 3000])
    products = packed_products(arrange_columns(columns, packing), encrypt_rows(small, values, packing), packing)
    others = encrypt(small.keys.public, place_products([-9000], packing), engine=small.engine)
    assert open_masked(small, add(products, others), packing) == [410]
    with pytest.raises(BoundError, match="does not fit into its slot"):
        place_products([1 << 59], packing)


def test_fewer_rows_in_a_plaintext_for_more_columns_or_fewer_rows(setting):
    public = setting.keys.public
    few, many = (choose_row_packing(public, 2**60, 1024, columns).row_count for columns in (1, 2000))
    assert few > many == 1
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
        (np.zeros((2, 1), np.uint64), "do not fit"),
        (np.zeros((1, 2), np.uint64), "do not fit"),
        (np.zeros(1, np.uint64), "do not fit"),
        (np.full((1, 1), 2**40, np.uint64), "wider than agreed"),
    ],
)
def test_slots_that_do_not_fit_are_refused(slots, message):
    with pytest.raises(InputError, match=message):
        unmask_slots(slots, np.zeros((1, 8), np.uint64), RowPacking(2, 40))
