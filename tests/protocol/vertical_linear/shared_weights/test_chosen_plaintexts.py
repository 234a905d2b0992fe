"""A key's holder encrypts plaintexts of its choice instead of its numbers.

Under masks that cover no more than slots it reads the other party's rows; under a mask of the whole plaintext it finds
noise.
"""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from hekat.engine.limbs import ints_from_limbs
from hekat.engine.select import get_engine
from hekat.protocol.shares.share_array import zero_shares
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.shared_weights.cross_products import paillier as cross_products
from hekat.protocol.vertical_linear.shared_weights.cross_products.paillier import PaillierCrossProducts
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import SlotLayout, most_slots
from hekat.protocol.vertical_linear.shared_weights.messages import FactorsMessage, ProductsMessage
from hekat.scheme.paillier import Ciphertexts, add_plain, decrypt, encrypt
from hekat.scheme.paillier.twos_complement import plaintext_from_ints
from hekat.wire import from_bytes, to_bytes

GUEST, HOST = "bank", "shop"
KEY_BITS = 2048
# Slots that are so much wider than results, and masks that fill them.
OLD_SLOT_BITS, OLD_MASK_BITS = 82, 80
LABELS = 943
FEATURE_BITS = 31


@pytest.fixture
def old_masks(monkeypatch):
    """Masks of slots: one for each slot, uniform below 2^80 times the slot's largest number."""

    def mask(products, layout):
        width, mask_bits = layout.value_bits + OLD_SLOT_BITS, layout.value_bits + OLD_MASK_BITS
        masks = [
            sum((secrets.randbits(mask_bits) + (1 << mask_bits)) << (width * slot) for slot in range(layout.slot_count))
            for _ in range(products.size)
        ]
        plain = plaintext_from_ints(masks, (1 << (width * layout.slot_count)) - 1)
        return add_plain(products, plain), zero_shares((products.size, layout.slot_count))

    monkeypatch.setattr(cross_products, "mask_products", mask)


@pytest.fixture(params=["old", "now"])
def masked_so(request):
    if request.param == "old":
        request.getfixturevalue("old_masks")
    return request.param


@pytest.fixture
def attack(converse, paillier_keys):
    """Plays the attacker with one of the guest's answers: returns the plaintexts that it opens, signed."""
    guest_keys, host_keys = paillier_keys[KEY_BITS][0], paillier_keys[KEY_BITS][1]

    def play(chosen, answer):
        def guest(channel):
            answer(PaillierCrossProducts(channel, HOST, guest_keys.private, host_keys.public, Stopwatch()))

        def host(channel):
            plain = plaintext_from_ints(chosen, host_keys.public.plaintext_space.bound)
            factors = encrypt(host_keys.private, plain).reshape(-1, 1)
            channel.send(GUEST, "f", FactorsMessage(to_bytes(factors)))
            message = channel.receive(GUEST, "p", ProductsMessage)
            answers = from_bytes(message.ciphertexts, Ciphertexts, public_key=host_keys.public)
            limbs = decrypt(host_keys.private, answers).limbs
            wrap = 1 << (64 * limbs.shape[1])
            return [value - wrap if 2 * value >= wrap else value for value in ints_from_limbs(limbs)]

        return converse(guest, host)[HOST]

    return play


def digits(opened, first_bit, bits, count):
    """The signed digits of `bits` bits that stand above `first_bit`."""
    found, rest, half = [], opened >> first_bit, 1 << (bits - 1)
    for _ in range(count):
        digit = (rest + half) % (1 << bits) - half
        found.append(digit)
        rest = (rest - digit) >> bits
    return np.array(found, object)


def first_free_bit(layout):
    """Above all bits that masks of slots cover, and in the middle of the whole mask."""
    return layout.slot_count * (layout.value_bits + OLD_SLOT_BITS) + 1


def test_labels_are_read_from_one_ciphertext_under_masks_of_slots_alone(attack, masked_so):
    rng = np.random.default_rng(41)
    labels, columns = rng.choice([-1, 1], LABELS), rng.integers(-(2**20), 2**20, (2, LABELS))
    # Packed as the products of the host's one column with the guest's columns and labels.
    layout = SlotLayout(2 * FEATURE_BITS + 1 + LABELS.bit_length(), 1, KEY_BITS)
    base = first_free_bit(layout)
    chosen = [1 << (base + 2 * row) for row in range(LABELS)]

    def answer(side):
        factors = side.receive_columns("f", (LABELS, 1), layout)
        side.answer_columns("p", np.concatenate([columns, labels[np.newaxis]]), factors, layout, 1)

    opened = attack(chosen, answer)
    read = np.where(digits(opened[2], base, 2, LABELS) > 0, 1, -1)
    right = int((read == labels).sum())
    if masked_so == "old":
        assert right == LABELS
    else:
        # Eight standard deviations of 943 fair coins.
        assert abs(right - LABELS / 2) < 8 * np.sqrt(LABELS) / 2


@pytest.mark.parametrize("slot_count", [1, 3])
def test_features_are_read_the_same_way(attack, masked_so, slot_count):
    """Scores of training and of prediction: rows in slots, and the host's factors one for each column and slot."""
    rng = np.random.default_rng(42)
    features = rng.integers(-(2**FEATURE_BITS), 2**FEATURE_BITS, (60, 3))
    layout = SlotLayout(128 + FEATURE_BITS + 2, slot_count, KEY_BITS)
    base, bits, per_ciphertext = first_free_bit(layout), FEATURE_BITS + 2, slot_count * 3
    chosen = [1 << (base + bits * place) for place in range(per_ciphertext)]

    def answer(side):
        side.answer("p", features, side.receive_factors("f", (3, 1), layout), layout)

    opened = attack(chosen, answer)
    read = np.array([digits(value, base, bits, per_ciphertext) for value in opened]).reshape(-1, 3)
    # One of 180 numbers of 33 bits is met by chance with odds of 2^-25, two of them with odds below 2^-50.
    assert (read == features).all() if masked_so == "old" else np.count_nonzero(read == features) < 2


def test_columns_under_chosen_residuals_are_read_the_same_way(attack, masked_so):
    rng = np.random.default_rng(43)
    columns = rng.integers(-(2**FEATURE_BITS), 2**FEATURE_BITS, (4, 40))
    layout = SlotLayout(128 + FEATURE_BITS + 6, 1, KEY_BITS)
    base, bits = first_free_bit(layout), FEATURE_BITS + 2
    chosen = [1 << (base + bits * row) for row in range(40)]
    opened = attack(chosen, lambda side: side.answer("p", columns, side.receive_factors("f", (40, 1), layout), layout))
    read = np.array([digits(value, base, bits, 40) for value in opened])
    assert (read == columns).all() if masked_so == "old" else np.count_nonzero(read == columns) < 2


def test_what_the_attacker_opens_is_what_it_asked_for_plus_a_mask_of_the_whole(attack, monkeypatch, paillier_keys):
    """D = (V + R) mod n exactly, with R uniform in [0, n) as the engine draws it: D is independent of V."""
    n, drawn = paillier_keys[KEY_BITS][1].public.n, []
    engine = type(get_engine())
    real = engine.random_below

    def record(self, count, bound):
        found = real(self, count, bound)
        if bound == n:
            drawn.extend(ints_from_limbs(found))
        return found

    monkeypatch.setattr(engine, "random_below", record)
    layout = SlotLayout(161, most_slots(161, KEY_BITS), KEY_BITS)
    labels = np.random.default_rng(44).choice([-1, 1], (50, 1))
    chosen = [1 << (KEY_BITS - 3 - slot) for slot in range(layout.slot_count)]
    answer = lambda side: side.answer("p", labels, side.receive_factors("f", (1, 1), layout), layout)  # noqa: E731
    opened = [attack(chosen, answer) for _ in range(2)]
    rows = np.zeros(-(-50 // layout.slot_count) * layout.slot_count, object)
    rows[:50] = labels[:, 0]
    asked = [int(np.dot(line, chosen)) for line in rows.reshape(-1, layout.slot_count)]
    assert len(drawn) == 2 * len(asked) == len(set(drawn))
    expected = [(value + layout.offset + mask) % n for value, mask in zip(2 * asked, drawn, strict=True)]
    assert [value % n for found in opened for value in found] == expected
