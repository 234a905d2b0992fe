"""Layouts: sizes and bounds, round trips, what is refused before packing and after decryption."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hekat.codec import LAYOUTS, Layout, make_layout
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PackedPlaintext, PlaintextSpace

NAMES = ["balanced", "offset", "two_sign_bits"]


def layout_for(name: str, bits: int = 8, addends: int = 5, plaintext_bits: int = 300) -> Layout:
    return make_layout(name, value_bits=bits, max_addends=addends, plaintext_bits=plaintext_bits)


def values_for(layout: Layout, count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(layout.lowest, layout.highest, size=count, endpoint=True)


def from_ints(values: list[int], limb_count: int, bound: int = 1) -> PackedPlaintext:
    return PackedPlaintext(limbs_from_ints([v % 2 ** (64 * limb_count) for v in values], limb_count), bound)


@pytest.mark.parametrize(
    ("name", "bits", "addends", "slot_bits", "slots"),
    [
        ("balanced", 16, 9, 20, 102),
        ("balanced", 1, 2, 3, 681),
        ("balanced", 32, 65536, 48, 42),
        ("offset", 16, 9, 20, 102),
        ("offset", 32, 65536, 48, 42),
        ("two_sign_bits", 16, 9, 24, 85),
        ("two_sign_bits", 32, 65536, 64, 31),
        ("two_sign_bits", 8, 1, 8, 255),
        ("two_sign_bits_as_published", 16, 2, 18, 113),
    ],
)
def test_slot_sizes(name: str, bits: int, addends: int, slot_bits: int, slots: int) -> None:
    layout = layout_for(name, bits, addends, 2046)
    assert (layout.slot_bits, layout.slots) == (slot_bits, slots)


@pytest.mark.quick_values
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bits", [1, 2, 7, 8, 16, 17, 24, 32])
@pytest.mark.parametrize("addends", [1, 2, 3, 4, 5, 255, 256, 257, 65535, 65536])
def test_sum_bound_fits_and_the_extremes_reach_the_bounds(name: str, bits: int, addends: int) -> None:
    for plaintext_bits in (127, 128, 191, 1023, 2046):
        layout = layout_for(name, bits, addends, plaintext_bits)
        assert layout.sum_bound <= 2**plaintext_bits - 1
        assert layout.slots * layout.slot_bits <= plaintext_bits
        no_values = np.zeros((0, layout.limb_count), np.uint64)
        PlaintextSpace(bound=2**plaintext_bits - 1).check(PackedPlaintext(no_values, layout.sum_bound))
        largest = -1 if name == "two_sign_bits" else layout.highest
        packed = layout.pack(np.full(layout.slots, largest, dtype=np.int64))
        assert ints_from_limbs(packed.limbs) == [layout.bound] == [packed.bound]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [0, 1, 2, 16, 17, 18, 100, 3000])
def test_one_contributor_round_trip(name: str, count: int) -> None:
    layout = layout_for(name)
    q = values_for(layout, count)
    packed = layout.pack(q)
    assert len(packed) == layout.plaintext_count(count)
    np.testing.assert_array_equal(layout.unpack(packed, count, 1), q)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limb_count", [4, 5, 6, 40])
def test_any_number_of_limbs_is_read(name: str, limb_count: int) -> None:
    layout = layout_for(name, addends=4, plaintext_bits=250)
    assert layout.limb_count == 4
    q = values_for(layout, 60)
    sums = from_ints([3 * v for v in ints_from_limbs(layout.pack(q).limbs)], limb_count)
    np.testing.assert_array_equal(layout.unpack(sums, 60, 3), 3 * q)


def test_fewer_limbs_than_the_layout_packs_are_read() -> None:
    layout = make_layout("two_sign_bits", value_bits=8, max_addends=4, plaintext_bits=250)
    q = np.array([5, 6], dtype=np.int64)
    np.testing.assert_array_equal(layout.unpack(from_ints(ints_from_limbs(layout.pack(q).limbs), 1), 2, 1), q)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8])
def test_smaller_integer_types_are_packed(name: str, dtype: type) -> None:
    layout = layout_for(name)
    q = np.array([1, 100, 0, 7], dtype=dtype)
    np.testing.assert_array_equal(layout.unpack(layout.pack(q), 4, 1), [1, 100, 0, 7])


@pytest.mark.parametrize("name", NAMES)
def test_values_out_of_range_are_refused_without_showing_them(name: str) -> None:
    layout = layout_for(name, bits=8)
    for bad in (layout.lowest - 1, layout.highest + 1, 2**62, -(2**62)):
        with pytest.raises(InputError, match="1 of 3 outside") as raised:
            layout.pack(np.array([0, bad, 1], dtype=np.int64))
        assert f"got {bad}" not in str(raised.value)


@pytest.mark.parametrize("bad", [np.zeros((2, 2), np.int64), np.zeros(3), np.zeros(3, np.uint64), np.array(["a"])])
def test_wrong_arrays_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(InputError, match="wrong form"):
        layout_for("balanced").pack(bad)


@pytest.mark.parametrize("name", NAMES)
def test_counts_that_do_not_fit_are_refused(name: str) -> None:
    layout = layout_for(name)
    packed = layout.pack(values_for(layout, 100))
    for addend_count in (0, -1, 6, True, 1.0):
        with pytest.raises(InputError, match="addend_count"):
            layout.unpack(packed, 100, addend_count)  # type: ignore[arg-type]
    for value_count in (1, layout.slots * (len(packed) - 1), layout.slots * len(packed) + 1):
        with pytest.raises(InputError, match="number of plaintexts"):
            layout.unpack(packed, value_count, 1)
    with pytest.raises(InputError, match="value_count"):
        layout.unpack(packed, -1, 1)


@pytest.mark.parametrize("name", NAMES)
def test_negative_or_too_large_plaintexts_are_refused(name: str) -> None:
    layout = layout_for(name)
    for bad in (-1, -(2**200), 2 ** layout.sum_bound.bit_length(), 2**310, 2**383, 2**500):
        with pytest.raises(BoundError, match="refused"):
            layout.unpack(from_ints([bad], 8), 1, 1)


@pytest.mark.parametrize("name", NAMES)
def test_garbage_in_padding_slots_is_refused(name: str) -> None:
    layout = layout_for(name)
    value = ints_from_limbs(layout.pack(np.array([3, 4], dtype=np.int64)).limbs)[0]
    np.testing.assert_array_equal(layout.unpack(from_ints([value], 5), 2, 1), [3, 4])
    for slot in (2, layout.slots - 1):
        with pytest.raises(BoundError, match="padding"):
            layout.unpack(from_ints([value + (1 << (slot * layout.slot_bits))], 5), 2, 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_slot_beyond_what_its_addends_reach_is_refused(name: str) -> None:
    layout = layout_for(name, bits=8, addends=5)
    q = np.full(layout.slots, layout.highest, dtype=np.int64)
    five = 5 * ints_from_limbs(layout.pack(q).limbs)[0]
    np.testing.assert_array_equal(layout.unpack(from_ints([five], 5), layout.slots, 5), 5 * q)
    with pytest.raises(BoundError, match="more than its addends can reach"):
        layout.unpack(from_ints([five + 1], 5), layout.slots, 5)


def test_balanced_carries_the_number_of_addends() -> None:
    layout = layout_for("balanced", addends=300)
    q = values_for(layout, 40)
    packed = ints_from_limbs(layout.pack(q).limbs)
    for addends in (1, 2, 255, 256, 300):
        plain = from_ints([addends * v for v in packed], 6)
        assert layout.read_addend_count(plain) == addends
        np.testing.assert_array_equal(layout.unpack(plain, 40), addends * q)
        with pytest.raises(BoundError, match="not the one announced"):
            layout.unpack(plain, 40, 299)


def test_balanced_refuses_counts_that_differ_or_cannot_be() -> None:
    layout = layout_for("balanced", addends=5)
    a, b = ints_from_limbs(layout.pack(np.zeros(layout.slots + 1, dtype=np.int64)).limbs)
    with pytest.raises(BoundError, match="different numbers"):
        layout.unpack(from_ints([a, 2 * b], 5), layout.slots + 1)
    for addends in (0, 6, 7):
        with pytest.raises(BoundError, match="not from 1 to 5"):
            layout.read_addend_count(from_ints([addends * a], 5))
    with pytest.raises(InputError, match="at least one"):
        layout.read_addend_count(layout.pack(np.zeros(0, dtype=np.int64)))


@pytest.mark.parametrize("name", ["offset", "two_sign_bits"])
def test_other_layouts_have_no_count_lane(name: str) -> None:
    layout = layout_for(name)
    assert not layout.has_count_slot
    with pytest.raises(InputError, match="no count slot"):
        layout.read_addend_count(layout.pack(np.zeros(1, dtype=np.int64)))


def test_offset_needs_the_number_of_addends() -> None:
    layout = layout_for("offset")
    with pytest.raises(InputError, match="without the number of addends"):
        layout.unpack(layout.pack(np.array([3])), 1)


def test_two_sign_bits_refuses_carries_that_its_addends_cannot_make() -> None:
    layout = make_layout("two_sign_bits", value_bits=8, max_addends=8, plaintext_bits=250)
    # Slot 0 holds the sum 0 and three carries out of the field: three negatives, more than two addends can be.
    plain = from_ints([3 << layout.field_bits], 4)  # type: ignore[attr-defined]
    assert layout.unpack(plain, 1, 3).tolist() == [0]
    with pytest.raises(BoundError, match="carries more"):
        layout.unpack(plain, 1, 2)


@pytest.mark.parametrize("name", NAMES)
def test_quantise_and_dequantise_speak_the_layouts_integers(name: str) -> None:
    layout = layout_for(name, bits=16)
    x = np.linspace(-0.5, 0.5, 77)
    q = layout.quantise(x, 0.5)
    assert q.min() == layout.lowest
    assert q.max() == layout.highest
    sums = layout.unpack(layout.pack(q), 77, 1)
    np.testing.assert_allclose(layout.dequantise(sums, 0.5, 1), x, atol=0.5 / 32767)
    with pytest.raises(InputError, match="addend_count"):
        layout.dequantise(sums, 0.5, 6)


@pytest.mark.parametrize("name", sorted(LAYOUTS))
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"value_bits": 0}, "bits per value"),
        ({"value_bits": 33}, "bits per value"),
        ({"max_addends": 0}, "max_addends"),
        ({"max_addends": 65537}, "max_addends"),
        ({"max_addends": 2.0}, "max_addends"),
        ({"plaintext_bits": 0}, "plaintext_bits"),
        ({"plaintext_bits": 5}, "larger key"),
    ],
)
def test_bad_sizes_are_refused(name: str, change: dict[str, int], says: str) -> None:
    sizes = {"value_bits": 8, "max_addends": 2, "plaintext_bits": 300} | change
    with pytest.raises(InputError, match=says):
        make_layout(name, **sizes)


def test_a_layout_does_not_change_after_it_is_made() -> None:
    layout = layout_for("balanced")
    with pytest.raises(dataclasses.FrozenInstanceError):
        layout.value_bits = 4  # type: ignore[misc]
    assert layout == layout_for("balanced")


def test_published_two_sign_bits_is_refused_for_more_than_two() -> None:
    for addends in (3, 4, 9):
        with pytest.raises(InputError, match=r"exact for two contributors only.*cure: use 'two_sign_bits'"):
            layout_for("two_sign_bits_as_published", addends=addends)
    with pytest.raises(InputError, match="1-bit"):
        layout_for("two_sign_bits_as_published", bits=1, addends=2)


@pytest.mark.parametrize("bits", [2, 8, 16, 24, 32])
@pytest.mark.parametrize("addends", [1, 2])
def test_published_two_sign_bits_is_exact_for_two(bits: int, addends: int) -> None:
    layout = layout_for("two_sign_bits_as_published", bits, addends, 1023)
    level = layout.highest
    for a, b in ((level, level), (-level, -level), (level, -level), (-1, -1), (-level, 0), (0, 0)):
        rows = [np.resize([a, 0], layout.slots), np.resize([b, -1], layout.slots)][:addends]
        total = sum(ints_from_limbs(layout.pack(row).limbs)[0] for row in rows)
        np.testing.assert_array_equal(layout.unpack(from_ints([total], 16), layout.slots, addends), sum(rows))


@pytest.mark.parametrize("bits", [3, 8, 16, 24, 32])
def test_published_two_sign_bits_corrupts_a_neighbour_with_three(bits: int) -> None:
    """Why it is refused: three small negatives in slot 0 change slot 1, where every contributor wrote zero."""
    published = layout_for("two_sign_bits_as_published", bits, 2, 1023)
    q = np.array([-1, 0, 0], dtype=np.int64)
    three = 3 * ints_from_limbs(published.pack(q).limbs)[0]
    decoded = published.unpack(from_ints([three], 16), 3, 2)
    assert decoded.tolist() != [-3, 0, 0]
    assert decoded[1] == 1
    exact = layout_for("two_sign_bits", bits, 3, 1023)
    three = 3 * ints_from_limbs(exact.pack(q).limbs)[0]
    assert exact.unpack(from_ints([three], 16), 3, 3).tolist() == [-3, 0, 0]
