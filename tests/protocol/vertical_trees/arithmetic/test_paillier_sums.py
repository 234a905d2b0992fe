"""Sums under the guest's key: those of the plain rows, level by level, and every false message refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hekat.errors import BoundError, KeyRefusedError, ProtocolError, WireError
from hekat.protocol.vertical_trees.arithmetic import paillier
from hekat.protocol.vertical_trees.arithmetic.interface import Exchange, finished_nodes
from hekat.protocol.vertical_trees.arithmetic.paillier import PaillierGuest, PaillierHost
from hekat.scheme.paillier import Ciphertexts, encrypt
from hekat.scheme.paillier.twos_complement import plaintext_from_ints
from hekat.wire import to_bytes
from hekat.wire.paillier import PublicKey

SEED = 20
BITS = 2048
ROWS = 50
BINS = (3, 5, 2)
TREE = ((-8, 8), (0, 16))


@pytest.fixture(scope="module")
def keys(paillier_keys):
    return paillier_keys[BITS][0]


def sides(keys, *, is_hidden=False, component_count=2):
    host = PaillierHost(BITS, component_count, is_hidden, Notes())
    return PaillierGuest(keys, component_count, is_hidden), host


class Notes(list):
    """A ledger's notes."""

    def note(self, step, what, disclosure):
        self.append((step, what, disclosure))


class Level:
    """Asked nodes of so many rows each: integers of rows and trees, and a bin for each row and column, -1 for none."""

    def __init__(self, *sizes, level=0, tree_count=1, trees=None, ranges=TREE, seed=SEED):
        rng = np.random.default_rng(seed)
        lows, highs = np.array(ranges * tree_count).T
        # By row number: the integers of all trees, and the digits.
        self.all_values = rng.integers(lows, highs + 1, (ROWS, len(lows)))
        offsets = np.cumsum([0, *BINS[:-1]])
        self.digits = np.stack([rng.integers(0, bins, ROWS) + at for bins, at in zip(BINS, offsets, strict=True)])
        self.digits[rng.random(self.digits.shape) < 0.2] = -1
        self.digits = self.digits.astype(np.int32)
        order, starts = rng.permutation(ROWS), np.cumsum([0, *sizes])
        trees = np.zeros(len(sizes), np.int64) if trees is None else np.array(trees)
        asked = ranges if trees.any() or level else ranges * tree_count
        self.exchange = Exchange(level, order[: starts[-1]].astype(np.int64), starts, asked, 1, trees)
        self.bin_counts = np.full(len(sizes), sum(BINS))
        first = np.repeat(trees, self.exchange.row_counts)[:, np.newaxis] * len(ranges)
        self.values = np.take_along_axis(
            self.all_values[self.exchange.rows], first + np.arange(len(asked))[np.newaxis], axis=1
        )

    def sums(self):
        sums = np.zeros((len(self.bin_counts), sum(BINS), self.values.shape[1]), np.int64)
        node_of = np.repeat(np.arange(len(self.bin_counts)), self.exchange.row_counts)
        for node, row, values in zip(node_of, self.exchange.rows, self.values, strict=True):
            for digit in self.digits[:, row]:
                if digit >= 0:
                    sums[node, digit] += values
        return sums.reshape(-1, self.values.shape[1])


def play(guest, host, level, change_block=bytes, change_answer=bytes, change_key=bytes):
    """What the guest opens in a level, and the bytes that went out and came back."""
    exchange, counts = level.exchange, level.bin_counts
    host.begin_level(exchange, change_key(guest.begin_level(exchange, level.values)), counts, "guest")
    cuts = guest.cuts(exchange)
    assert cuts == host.cuts(exchange)
    opened, sent, returned = [], 0, 0
    for cut, (first, last) in zip(cuts, finished_nodes(exchange, cuts), strict=True):
        block = change_block(guest.block(cut))
        digits = np.ascontiguousarray(level.digits[:, exchange.rows[slice(*cut)]])
        answer = change_answer(host.answer(block, digits, "guest"))
        opened.append(guest.open(first, counts[first:last], answer, "host"))
        sent, returned = sent + len(block), returned + len(answer)
    return np.concatenate(opened), sent, returned


@pytest.mark.quick_values
@pytest.mark.parametrize("rows_at_once", [1 << 13, 7])
@pytest.mark.parametrize("tree_count", [1, 3])
def test_sums_of_every_level_are_those_of_the_plain_rows(keys, monkeypatch, rows_at_once, tree_count):
    monkeypatch.setattr(paillier, "ROWS_AT_ONCE", rows_at_once)
    guest, host = sides(keys)
    for iteration in range(2):
        for depth, sizes in enumerate([(ROWS,), (20,), (8, 0, 11), (1, 3)]):
            trees = [place % tree_count for place in range(len(sizes))] if depth else None
            level = Level(*sizes, level=depth, tree_count=tree_count, trees=trees, seed=iteration)
            found, sent, _ = play(guest, host, level)
            assert_array_equal(found, level.sums())
            # Rows are encrypted once a tree.
            assert (sent > 0) == (depth == 0)


@pytest.mark.parametrize("ranges", [TREE, ((-8, 8),), ((-(1 << 40), 1 << 40), (0, 1 << 41))])
def test_a_hidden_partition_has_the_integers_of_many_nodes(keys, ranges):
    """One ciphertext for as many nodes as it holds: 40 fit, or of wide integers some 20."""
    guest, host = sides(keys, is_hidden=True, component_count=len(ranges))
    for depth, nodes in enumerate((1, 1, 5, 40)):
        level = Level(ROWS, tree_count=nodes, ranges=ranges)
        exchange = level.exchange
        level.exchange = Exchange(depth, exchange.rows, exchange.starts, exchange.ranges, 1, exchange.trees)
        found, sent, _ = play(guest, host, level)
        assert_array_equal(found, level.sums())
        assert sent > ROWS * BITS / 4


def test_answers_are_few_ciphertexts_and_fresh(keys):
    guest, host = sides(keys)
    _, _, returned = play(guest, host, Level(ROWS))
    assert 2 * BITS / 8 < returned < 3 * BITS / 8  # one ciphertext
    answers = []
    for _ in range(2):
        play(guest, host, Level(20, level=1), change_answer=lambda answer: answers.append(answer) or answer)
    assert answers[0] != answers[1]


def test_columns_without_sums_have_empty_answers(keys):
    guest, host = sides(keys)
    level = Level(ROWS)
    level.bin_counts, level.digits = np.array([0]), np.zeros((0, ROWS), np.int32)
    found, _, returned = play(guest, host, level)
    assert (found.shape, returned) == ((0, 2), 0)
    with pytest.raises(ProtocolError, match="host sent ciphertexts that nobody asked for"):
        guest.open(0, np.array([0]), b"1", "host")


def test_no_rows_give_no_sums(keys):
    guest, host = sides(keys)
    play(guest, host, Level(ROWS))
    found, sent, _ = play(guest, host, Level(0, level=1))
    assert not found.any()
    assert sent == 0


# --- hostile messages ---------------------------------------------------------------------------------------


def other_ciphertexts(keys, values):
    return to_bytes(encrypt(keys.private, plaintext_from_ints(list(values), keys.public.plaintext_space.bound)))


@pytest.mark.parametrize("value", [-8 * ROWS - 1, 1 << 2000, -1 << 2000, 1 << 300])
def test_sums_that_cannot_be_name_the_host(keys, value):
    false = other_ciphertexts(keys, [value])
    with pytest.raises(ProtocolError, match="host sent sums that cannot be"):
        play(*sides(keys), Level(ROWS), change_answer=lambda _: false)


def test_a_ciphertext_that_is_no_unit_is_refused(keys):
    limbs = np.zeros((1, keys.public.n_squared.limb_count), np.uint64)
    limbs[0, : keys.public.n_modulus.limb_count] = keys.public.n_modulus.limbs
    false = to_bytes(Ciphertexts.from_limbs(keys.public, limbs))
    with pytest.raises(WireError, match="shares a factor"):
        play(*sides(keys), Level(ROWS), change_answer=lambda _: false)


@pytest.mark.parametrize("count", [0, 1, 3, ROWS])
def test_another_number_of_ciphertexts_names_its_sender(keys, count):
    false = other_ciphertexts(keys, [0] * count)
    if count != 1:
        with pytest.raises(ProtocolError, match="host sent another number of ciphertexts"):
            play(*sides(keys), Level(ROWS), change_answer=lambda _: false)
    if count != ROWS:
        with pytest.raises(ProtocolError, match="guest sent another number of ciphertexts"):
            play(*sides(keys), Level(ROWS), change_block=lambda _: false)


@pytest.mark.parametrize("change", ["change_block", "change_answer"])
def test_ciphertexts_under_another_key_or_damaged_are_refused(keys, paillier_keys, change):
    for false in (other_ciphertexts(paillier_keys[BITS][1], [0] * ROWS), b"", b"no message"):
        with pytest.raises(WireError):
            play(*sides(keys), Level(ROWS), **{change: lambda _, false=false: false})


def test_ciphertexts_at_a_level_that_has_none_are_refused(keys):
    guest, host = sides(keys)
    play(guest, host, Level(ROWS))
    with pytest.raises(ProtocolError, match="guest sent ciphertexts that nobody asked for"):
        play(guest, host, Level(20, level=1), change_block=lambda _: b"more")


def test_an_unproven_key_is_refused(keys):
    """Before anything is computed under it: its maker may see through re-randomised answers."""
    false = to_bytes(PublicKey._made(keys.public.n, keys.public.roots[::-1]))
    with pytest.raises(KeyRefusedError, match=f"key {keys.public.fingerprint} is not shown to be sound"):
        play(*sides(keys), Level(ROWS), change_key=lambda _: false)


def test_a_key_of_another_size_is_refused(keys):
    with pytest.raises(KeyRefusedError, match="the key of guest is not the job's"):
        play(PaillierGuest(keys, 2, False), PaillierHost(3072, 2, False, Notes()), Level(ROWS))


def test_no_key_and_a_second_key_are_refused(keys, paillier_keys):
    with pytest.raises(ProtocolError, match="guest sent no key"):
        play(*sides(keys), Level(ROWS), change_key=lambda _: b"")
    guest, host = sides(keys)
    play(guest, host, Level(ROWS))
    for key in (keys, paillier_keys[BITS][1]):
        with pytest.raises(ProtocolError, match="guest sent another key"):
            play(guest, host, Level(20, level=1), change_key=lambda _, key=key: to_bytes(key.public))


def test_sums_beyond_the_key_are_refused_before_rows_are_encrypted(keys):
    guest, _ = sides(keys)
    level = Level(ROWS, ranges=((-(1 << 61), 1 << 61), (0, 1)))
    with pytest.raises(BoundError, match="no room for the sums"):
        guest.begin_level(level.exchange, level.values)
