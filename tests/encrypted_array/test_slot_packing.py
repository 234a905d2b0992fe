"""Slots and limbs: exact at the extremes, and no slot ever reaches its neighbour."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.encrypted_array.packing import SlotPacking, choose_packing
from hekat.encrypted_array.plaintexts import (
    integers_from_plaintext,
    plaintext_from_integers,
)
from hekat.errors import InputError


@given(st.data(), st.integers(1, 9), st.integers(2, 90), st.integers(0, 20))
def test_unpack_inverts_pack(data, slots, slot_bits, row_length):
    packing = SlotPacking(slots, slot_bits)
    values = st.integers(-packing.limit, packing.limit)
    rows = data.draw(st.lists(st.lists(values, min_size=row_length, max_size=row_length), min_size=1, max_size=3))
    array = np.array(rows, dtype=object).reshape(len(rows), row_length)
    packed = packing.pack(array)
    assert packed.shape == (len(rows), packing.ciphertext_count(row_length))
    assert packing.unpack(packed, row_length).tolist() == rows


@pytest.mark.parametrize("slot_bits", [2, 3, 8, 63, 64, 65, 127])
@pytest.mark.parametrize("signs", [(1, 1, 1), (-1, -1, -1), (1, -1, 1), (-1, 1, -1), (0, -1, 0), (0, 0, 1)])
def test_slots_at_their_limit_stay_apart_and_within_the_plaintext_bound(slot_bits, signs):
    packing = SlotPacking(3, slot_bits)
    values = np.array([s * packing.limit for s in signs], dtype=object)
    packed = packing.pack(values)
    assert packing.unpack(packed, 3).tolist() == values.tolist()
    assert abs(packed[0]) <= packing.plaintext_bound(packing.limit) < 1 << (3 * slot_bits - 1)


@given(st.lists(st.integers(-(2**130), 2**130), min_size=1, max_size=5), st.lists(st.integers(-3, 3), min_size=5))
def test_packing_is_linear(values, factors):
    packing = SlotPacking(2, 140)
    array = np.array(values, dtype=object)
    combined = sum(f * packing.pack(array) for f in factors[:5])
    assert packing.unpack(combined, len(values)).tolist() == [sum(factors[:5]) * v for v in values]


@given(st.integers(1, 400), st.integers(2, 2048), st.integers(1, 2**70))
def test_chosen_slots_hold_the_bound_and_fit_the_key(pack, plaintext_bits, bound):
    if pack * (bound.bit_length() + 1) > plaintext_bits + 1:
        with pytest.raises(InputError, match="slots do not fit"):
            choose_packing(pack, None, bound, plaintext_bits)
    else:
        packing = choose_packing(pack, None, bound, plaintext_bits)
        assert packing.slots == pack
        assert packing.limit >= bound
        assert packing.plaintext_bound(packing.limit) <= 2**plaintext_bits - 1


def test_refusal_names_the_largest_pack_that_works():
    with pytest.raises(InputError, match="pack=63 or fewer"):
        choose_packing(64, None, 2**31 - 1, 2046)
    assert choose_packing(63, None, 2**31 - 1, 2046).slot_bits == 32
    with pytest.raises(InputError, match="slots do not fit"):
        choose_packing(4, 31, 2**31 - 1, 2046)


@pytest.mark.parametrize("pack", [0, -1, 2.0, "4", True])
def test_pack_that_is_no_count_is_refused(pack):
    with pytest.raises(InputError, match="pack refused"):
        choose_packing(pack, None, 1, 2046)


@given(st.lists(st.integers(-(2**200), 2**200), max_size=6), st.integers(0, 200))
def test_integers_survive_limbs(values, spare_bits):
    bound = max((abs(v) for v in values), default=0) + (1 << spare_bits)
    plain = plaintext_from_integers(np.array(values, dtype=object), bound)
    assert integers_from_plaintext(plain).tolist() == values


@pytest.mark.parametrize("bound", [2**63 - 1, 2**63, 2**64, 2**127, 2**500])
def test_int64_arrays_are_sign_extended(bound):
    values = np.array([-(2**63) + 1, -1, 0, 1, 2**63 - 1], dtype=np.int64)
    assert integers_from_plaintext(plaintext_from_integers(values, bound)).tolist() == values.tolist()
