"""One mask for a whole plaintext: what opens is (V + R) mod n, shares add up to v or v + 1, no mask comes twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.protocol.shares.share_array import add_shares
from hekat.protocol.vertical_linear.shared_weights.cross_products import paillier as cross_products
from hekat.protocol.vertical_linear.shared_weights.cross_products import slots
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import CARRY_UNITS, MARGIN_BITS, SlotLayout
from hekat.protocol.vertical_linear.shared_weights.cross_products.whole_mask import mask_products, open_products
from hekat.scheme.paillier import decrypt, encrypt
from hekat.scheme.paillier.twos_complement import plaintext_from_ints

RING = 1 << 128
KEY_BITS = 1024
DENSE = [SlotLayout(bits, slots.most_slots(bits, KEY_BITS), KEY_BITS) for bits in (73, 163, 261)]
APART = [SlotLayout(bits, slots.most_slots(bits, KEY_BITS, MARGIN_BITS), KEY_BITS, MARGIN_BITS) for bits in (73, 104)]


@pytest.fixture(scope="module")
def keys(paillier_keys):
    return paillier_keys[KEY_BITS][0]


def carried(keys, layout, lines, masks):
    """By how much the shares of each line's values, under that mask, add up to more: (lines, slots) integers mod
    2^128."""
    packed = [sum(value << (layout.slot_bits * slot) for slot, value in enumerate(line)) for line in lines]
    products = encrypt(keys.private, plaintext_from_ints(packed, keys.public.plaintext_space.bound))
    engine = get_engine()
    real = type(engine).random_below

    def forced(self, count, bound):
        if bound != keys.public.n:
            return real(self, count, bound)
        assert count == len(masks)
        return limbs_from_ints(masks, keys.public.n_modulus.limb_count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(engine), "random_below", forced)
        masked, own = mask_products(products, layout)
    opened = open_products(keys.private, masked, layout)
    assert opened.shape == own.shape == (len(lines), layout.slot_count, 2)
    sums = np.array(ints_from_limbs(add_shares(own, opened)), object).reshape(len(lines), -1)
    return (sums - np.array(lines, object)) % RING


def extremes(layout):
    greatest = (1 << layout.value_bits) - 1
    signs = [[1], [-1], [1, -1], [-1, 1], [0]]
    return [[greatest * one[slot % len(one)] for slot in range(layout.slot_count)] for one in signs]


def whole(layout, line):
    return layout.offset + sum(value << (layout.slot_bits * slot) for slot, value in enumerate(line))


@pytest.mark.parametrize("layout", DENSE + APART, ids=lambda layout: f"{layout.value_bits}-{layout.gap_bits}")
def test_shares_add_up_at_the_extremes_of_values_and_masks(keys, layout):
    n = keys.public.n
    lines, masks = [], []
    for line in extremes(layout):
        ones = [(1 << (layout.slot_bits * slot)) - 1 for slot in range(1, layout.slot_count + 1)]
        forced = [0, 1, *ones, (1 << (KEY_BITS - 1)) - 1, n - 1 - whole(layout, line)]
        lines += [line] * len(forced)
        masks += forced
    assert all(0 <= mask < n for mask in masks)
    found = carried(keys, layout, lines, masks)
    assert (found[:, 0] == 0).all()
    assert (found <= CARRY_UNITS).all()
    # Ones below carry wherever something is added to them: the unit is there, and the bound is tight.
    assert (found[:, 1:] == 1).any()
    assert (found[np.array(masks) == 0] == 0).all()


@pytest.mark.parametrize("layout", DENSE + APART, ids=lambda layout: f"{layout.value_bits}-{layout.gap_bits}")
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_shares_of_any_values_under_any_masks_add_up(keys, layout, data):
    greatest = (1 << layout.value_bits) - 1
    line = data.draw(st.lists(st.integers(-greatest, greatest), min_size=layout.slot_count, max_size=layout.slot_count))
    mask = data.draw(st.integers(0, keys.public.n - 1 - whole(layout, line)))
    ((first, *others),) = carried(keys, layout, [line], [mask])
    assert first == 0
    assert set(others) <= {0, CARRY_UNITS}


@pytest.mark.parametrize("layout", APART, ids=lambda layout: str(layout.value_bits))
def test_slots_apart_carry_only_where_a_whole_gap_is_ones(keys, layout):
    width, content = layout.slot_bits, layout.value_bits + 1
    assert width - content >= MARGIN_BITS
    ones = (1 << (width * layout.slot_count)) - 1
    lines = extremes(layout) * MARGIN_BITS
    # The last gap bits of every slot, one of them 0 at a time.
    missing = [content + place for place in range(MARGIN_BITS) for _ in extremes(layout)]
    masks = [ones - sum(1 << (width * slot + bit) for slot in range(layout.slot_count)) for bit in missing]
    assert (carried(keys, layout, lines, masks) == 0).all()


def test_a_plaintext_that_passes_the_modulus_is_lost_and_no_more(keys):
    """The margin excludes this: V + R = n opens as 0."""
    layout, line = DENSE[1], extremes(DENSE[1])[0]
    assert (carried(keys, layout, [line], [keys.public.n - 1 - whole(layout, line)]) <= CARRY_UNITS).all()
    lost = carried(keys, layout, [line], [keys.public.n - whole(layout, line)])
    assert (lost > CARRY_UNITS).any()


def test_masks_are_drawn_uniform_below_n_one_for_each_ciphertext(keys, monkeypatch):
    layout, engine, drawn = DENSE[1], get_engine(), []
    real = type(engine).random_below
    record = lambda self, count, bound: (drawn.append((bound, real(self, count, bound))), drawn[-1][1])[1]  # noqa: E731
    monkeypatch.setattr(type(engine), "random_below", record)
    values = plaintext_from_ints([-1] * 300, 1)
    products = encrypt(keys.private, values).reshape(100, 3)
    drawn.clear()
    masked, own = mask_products(products, layout)
    ((bound, masks),) = drawn
    assert (bound, len(masks)) == (keys.public.n, 300)
    n, whole_numbers = keys.public.n, ints_from_limbs(masks)
    opened = [value % n for value in decrypt_all(keys, masked)]
    assert opened == [(mask + layout.offset - 1) % n for mask in whole_numbers]
    assert len(set(opened)) == 300
    # Each bit of what opens is a fair coin, up to the modulus's own top: nine standard deviations of 300.
    for bit in range(KEY_BITS - 8):
        assert abs(sum(value >> bit & 1 for value in opened) - 150) < 9 * 8.7
    fractions = np.array([value / n for value in opened])
    assert abs(fractions.mean() - 0.5) < 9 * 0.289 / np.sqrt(300)
    assert own.shape == (300, layout.slot_count, 2)


def decrypt_all(keys, ciphertexts):
    limbs = decrypt(keys.private, ciphertexts).limbs
    wrap = 1 << (64 * limbs.shape[1])
    return [value - wrap if 2 * value >= wrap else value for value in ints_from_limbs(limbs)]


@pytest.mark.quick_cases("gram")
def test_no_mask_of_a_run_comes_twice(run_of, settings_of, tables_of, gradient_method, monkeypatch):
    """Each answered ciphertext of each batch has a mask of its own: all masks of a run are different."""
    engine, drawn, answered = get_engine(), [], []
    real, mask = type(engine).random_below, cross_products.mask_products

    def record(self, count, bound):
        found = real(self, count, bound)
        drawn.append((bound, ints_from_limbs(found)))
        return found

    def count(products, layout):
        before = len(drawn)
        masked = mask(products, layout)
        ((bound, masks),) = drawn[before:]
        assert bound == products.public.n
        assert len(masks) == products.size
        answered.extend(masks)
        return masked

    monkeypatch.setattr(type(engine), "random_below", record)
    monkeypatch.setattr(cross_products, "mask_products", count)
    run_of(settings_of(epochs=2, batch_rows=10), tables_of(31), exactness_check=False).run()
    assert len(answered) > 50
    assert len(set(answered)) == len(answered)
