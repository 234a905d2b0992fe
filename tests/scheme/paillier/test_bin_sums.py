"""Sums of encrypted rows by bins: exact at every bound, checked when opened, and silent on how they were added."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.limbs import limbs_from_ints
from hekat.engine.reference import ReferenceEngine
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import Ciphertexts, bin_sums, encrypt, rerandomise
from hekat.scheme.paillier.bin_sums import bin_sum_layout, encrypt_rows, open_sums, pack_sums, sum_bins

LOWS, HIGHS = (-8, 0), (8, 16)
SEED = 20
COLUMNS, BINS, ROWS = 3, 5, 40
BIN_COUNT = COLUMNS * BINS


@pytest.fixture(scope="module")
def keys(paillier_keys):
    """A stored 512-bit key pair: fast, and unsafe for anything but tests."""
    return paillier_keys[512][0]


@pytest.fixture(scope="module")
def layout(keys):
    return bin_sum_layout(keys.public, LOWS, HIGHS, ROWS)


def random_rows(seed):
    """Values, digits (some absent) and segments of the rows in a shuffled order that leaves some out."""
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(-8, 9, ROWS), rng.integers(0, 17, ROWS)], 1)
    digits = rng.integers(0, BINS, (COLUMNS, ROWS)) + BINS * np.arange(COLUMNS)[:, None]
    digits[rng.random(digits.shape) < 0.2] = -1
    return values, digits.astype(np.int32), rng.permutation(ROWS)[:33], np.array([1, 9, 9, 30], np.int64)


def plain_sums(values, digits, positions, starts):
    sums = np.zeros((len(starts) - 1, BIN_COUNT, values.shape[1]), np.int64)
    for segment, (start, stop) in enumerate(itertools.pairwise(starts)):
        for place in range(start, stop):
            for digit in digits[:, place]:
                if digit >= 0:
                    sums[segment, digit] += values[positions[place]]
    return sums


@pytest.mark.parametrize("block", [1, 70, 1 << 22])
def test_sums_are_those_of_the_plain_rows(keys, layout, monkeypatch, block):
    monkeypatch.setattr(bin_sums, "BLOCK_ADDENDS", block)
    values, digits, positions, starts = random_rows(SEED)
    digits = np.ascontiguousarray(digits[:, positions])
    found = sum_bins(encrypt_rows(keys.private, values, layout), digits, positions, starts, BIN_COUNT)
    assert found.shape == (3, BIN_COUNT)
    wanted = np.flatnonzero(np.random.default_rng(SEED).random(found.size) < 0.8)
    packed = pack_sums(found.reshape(-1).take(wanted), layout)
    assert packed.size < len(wanted) / 5
    opened = open_sums(keys.private, packed, layout, ROWS, len(wanted))
    assert_array_equal(opened, plain_sums(values, digits, positions, starts).reshape(-1, 2)[wanted])


@pytest.mark.parametrize(
    "make_engine", [ReferenceEngine, lambda: CudaEngine(EmulatedDevice())], ids=["reference", "cuda"]
)
def test_every_engine_gives_the_same_sums(keys, layout, monkeypatch, make_engine):
    engine = make_engine()
    monkeypatch.setattr(sys.modules["hekat.scheme.paillier.encrypt"], "get_engine", lambda: engine)
    values, digits, positions, starts = random_rows(SEED)
    digits = np.ascontiguousarray(digits[:, positions])
    rows = encrypt_rows(keys.public, values, layout)
    assert rows.engine is engine
    found = sum_bins(rows, digits, positions, starts, BIN_COUNT).reshape(-1)
    opened = open_sums(keys.private, pack_sums(found, layout), layout, ROWS, found.size)
    assert_array_equal(opened, plain_sums(values, digits, positions, starts).reshape(-1, 2))


@pytest.mark.parametrize("row", [(-8, 0), (8, 16), (8, 0), (-8, 16), (0, 0)])
@pytest.mark.parametrize("neighbour", [(-8, 0), (8, 16)])
def test_no_sum_reaches_its_neighbours_at_the_bound(keys, layout, row, neighbour):
    """All rows of one extreme in one bin, beside bins full of the other."""
    values = np.array([row, neighbour], np.int64)
    rows = encrypt_rows(keys.public, values, layout)
    digits = np.tile([0, 1], ROWS)[np.newaxis]
    positions, starts = np.tile([0, 1], ROWS).astype(np.int64), np.array([0, 2 * ROWS], np.int64)
    found = sum_bins(rows, digits, positions, starts, 2).reshape(-1)
    many = found.take(np.arange(2 * layout.slots + 1) % 2)
    opened = open_sums(keys.private, pack_sums(many, layout), layout, ROWS, many.size)
    assert_array_equal(opened, ROWS * values[np.arange(many.size) % 2])


@pytest.mark.parametrize("components", [1, 2, 6])
@pytest.mark.parametrize("sum_count", [0, 1, 2, 7, 23, 60])
def test_any_number_of_sums_and_components(keys, components, sum_count):
    layout = bin_sum_layout(keys.public, (-3,) * components, (5,) * components, 9)
    values = np.random.default_rng([SEED, components, sum_count]).integers(-3, 6, (sum_count, components))
    packed = pack_sums(encrypt_rows(keys.private, values, layout), layout)
    assert packed.shape == layout.packed_shape(sum_count)[:1]
    assert_array_equal(open_sums(keys.private, packed, layout, 1, sum_count), values)


def test_sums_of_wide_values(paillier_keys):
    """62 bits of field, as with rounding off."""
    keys, high = paillier_keys[512][0], (1 << 62) // 3 - 1
    layout = bin_sum_layout(keys.public, (-high // 2, 0), (high // 2, high), 3)
    assert layout.field_bits == 62
    values = np.array([[-high // 2, high], [high // 2, 0], [-high // 2, high]], np.int64)
    rows = encrypt_rows(keys.private, values, layout)
    found = sum_bins(rows, np.array([[0, 1, 0]]), np.arange(3), np.array([0, 3]), 2).reshape(-1)
    opened = open_sums(keys.private, pack_sums(found, layout), layout, 3, 2)
    assert_array_equal(opened, [values[0] + values[2], values[1]])


def test_no_columns_and_no_rows_give_sums_of_nothing(keys, layout):
    rows = encrypt_rows(keys.private, np.array([[1, 2]]), layout)
    nothing = np.zeros(0, np.int64)
    for digits, positions, starts in (
        (np.zeros((0, 1), np.int64), np.zeros(1, np.int64), np.array([0, 1])),
        (np.zeros((2, 0), np.int64), nothing, np.array([0, 0])),
    ):
        found = sum_bins(rows, digits, positions, starts, 3).reshape(-1)
        assert_array_equal(open_sums(keys.private, pack_sums(found, layout), layout, 0, 3), np.zeros((3, 2)))


# --- what the key's holder may find --------------------------------------------------------------------------


def fits_exactly(answer, candidates):
    """The attack: the holder made all rows' ciphertexts, so it adds them for each binning that it suspects."""
    return [np.array_equal(answer.to_limbs(), candidate.to_limbs()) for candidate in candidates]


def test_the_holder_cannot_tell_binnings_with_equal_sums_apart(keys, layout, monkeypatch):
    values = np.array([[3, 1], [3, 1], [-2, 4], [-2, 4]], np.int64)
    rows = encrypt_rows(keys.private, values, layout)
    positions, starts = np.arange(4), np.array([0, 4])
    binnings = [np.array([digits]) for digits in ([0, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1])]

    def answer(binning):
        return pack_sums(sum_bins(rows, binning, positions, starts, 2).reshape(-1), layout)

    assert len({tuple(map(tuple, open_sums(keys.private, answer(b), layout, 4, 2))) for b in binnings}) == 1
    sent = answer(binnings[1])
    with monkeypatch.context() as without:
        without.setattr(bin_sums, "rerandomise", lambda sums: sums)
        guesses = [answer(binning) for binning in binnings]
        assert fits_exactly(answer(binnings[1]), guesses) == [False, True, False]
    assert not any(fits_exactly(sent, guesses))
    assert not any(fits_exactly(sent, [answer(binning) for binning in binnings]))


def test_every_ciphertext_of_an_answer_has_its_own_uniform_randomiser(keys, layout, monkeypatch):
    renewed = []
    monkeypatch.setattr(bin_sums, "rerandomise", lambda sums: renewed.append(sums.size) or rerandomise(sums))
    rows = encrypt_rows(keys.private, np.ones((3 * layout.slots, 2), np.int64), layout)
    assert renewed == []
    assert pack_sums(rows, layout).size == 3 == sum(renewed)


# --- hostile answers ----------------------------------------------------------------------------------------


def encrypted(keys, values):
    count = keys.public.n_modulus.limb_count
    limbs = limbs_from_ints([value % (1 << 64 * count) for value in values], count)
    return encrypt(keys.private, PackedPlaintext(limbs, keys.public.plaintext_space.bound))


HOSTILE = {
    "a gradient beyond": lambda layout: 81,
    "a gradient below": lambda layout: -81,
    "a hessian below 0": lambda layout: -1 << layout.field_bits,
    "a hessian beyond": lambda layout: 161 << layout.field_bits,
    "an empty slot filled": lambda layout: 1 << (layout.slot_bits * 2),
    "above all slots": lambda layout: 1 << (layout.slot_bits * layout.slots),
    "the largest plaintext": lambda layout: (1 << layout.plaintext_bits) - 1,
    "the lowest plaintext": lambda layout: 1 - (1 << layout.plaintext_bits),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_sums_beyond_the_public_bound_are_refused(keys, layout, case):
    answer = encrypted(keys, [HOSTILE[case](layout)])
    with pytest.raises(BoundError, match="breaks the rules"):
        open_sums(keys.private, answer, layout, 10, 2)


def test_each_sum_is_held_to_its_own_rows(keys, layout):
    answer = encrypted(keys, [8 + (24 << layout.slot_bits)])
    assert_array_equal(open_sums(keys.private, answer, layout, np.array([1, 3]), 2), [[8, 0], [24, 0]])
    with pytest.raises(BoundError, match="breaks the rules"):
        open_sums(keys.private, answer, layout, np.array([1, 2]), 2)


def test_an_answer_of_another_length_or_no_unit_is_refused(keys, layout):
    answer = encrypted(keys, [0])
    with pytest.raises(InputError, match="expected 2 ciphertexts"):
        open_sums(keys.private, answer, layout, 1, layout.slots + 1)
    with pytest.raises(InputError, match="row counts refused"):
        open_sums(keys.private, answer, layout, ROWS + 1, 1)
    factor = limbs_from_ints([keys.private.p], keys.public.n_squared.limb_count)
    with pytest.raises(InputError, match="factor"):
        open_sums(keys.private, Ciphertexts.from_limbs(keys.public, factor), layout, 1, 1)


@pytest.mark.parametrize(
    ("lows", "highs", "row_count", "error"),
    [
        ((0,), (1, 1), 5, InputError),
        ((), (), 5, InputError),
        ((1,), (2,), 5, InputError),
        ((0,), (2,), 0, InputError),
        ((0,), (1 << 62,), 2, BoundError),
        ((0,) * 200, (1,) * 200, 100, BoundError),
    ],
)
def test_layouts_without_room_are_refused(keys, lows, highs, row_count, error):
    with pytest.raises(error):
        bin_sum_layout(keys.public, lows, highs, row_count)


@pytest.mark.parametrize("value", [(-9, 0), (9, 0), (0, -1), (0, 17)])
def test_rows_out_of_range_are_refused(keys, layout, value):
    with pytest.raises(BoundError, match="out of its range"):
        encrypt_rows(keys.private, np.array([(0, 0), value], np.int64), layout)


def test_rows_of_another_shape_are_refused(keys, layout):
    for values in (np.zeros((2, 3), np.int64), np.zeros(2, np.int64), np.zeros((2, 2))):
        with pytest.raises(InputError, match="values of rows refused"):
            encrypt_rows(keys.private, values, layout)


WRONG = {
    "a digit beyond": ([[0, 3]], [0, 1], [0, 2], "digits refused"),
    "a digit below": ([[0, -2]], [0, 1], [0, 2], "digits refused"),
    "float digits": ([[0.0, 1.0]], [0, 1], [0, 2], "digits refused"),
    "digits of one axis": ([0, 1], [0, 1], [0, 2], "do not fit their rows"),
    "fewer positions": ([[0, 1]], [0], [0, 2], "do not fit their rows"),
    "falling starts": ([[0, 1]], [0, 1], [0, 2, 1], "do not fit their rows"),
    "starts beyond": ([[0, 1]], [0, 1], [0, 3], "do not fit their rows"),
    "negative starts": ([[0, 1]], [0, 1], [-1, 2], "do not fit their rows"),
    "no starts": ([[0, 1]], [0, 1], [], "do not fit their rows"),
    "a row beyond": ([[0, 1]], [0, 2], [0, 2], "members out of range"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bins_that_do_not_fit_are_refused(keys, layout, case):
    digits, positions, starts, message = WRONG[case]
    rows = encrypt_rows(keys.public, np.ones((2, 2), np.int64), layout)
    with pytest.raises(InputError, match=message):
        sum_bins(rows, np.array(digits), np.array(positions, np.int64), np.array(starts, np.int64), 3)
