"""Residues stay with the member that has them: what does move is counted."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.engine.spread.conftest import N

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints

VALUES = [3**i for i in range(1, 9)]
HALVES = [0] * 4 + [1] * 4


def ints(a):
    return ints_from_limbs(a.engine.store(a))


def test_a_batch_is_loaded_once_and_stored_once(spread):
    loaded = []
    assert spread.moved(lambda: loaded.append(spread.load(VALUES))) == (0, 8)
    assert spread.owners(loaded[0]) == HALVES
    assert spread.moved(lambda: spread.engine.store(loaded[0])) == (8, 0)
    assert ints(loaded[0]) == VALUES


def test_operands_cut_alike_do_not_move(spread):
    a, b = spread.load(VALUES), spread.load(VALUES[::-1])
    exponents, small = limbs_from_ints(range(8), 1), limbs_from_ints(range(8), 1)

    def work():
        spread.engine.mod_mul(a, b)
        spread.engine.mod_inv(spread.engine.mod_exp(a, exponents))
        spread.engine.mod_mul_one_plus(spread.engine.mod_exp_vartime(b, exponents), small)
        spread.engine.mod_mul(spread.engine.reshape(a, (2, 2, 2)), spread.engine.reshape(b, (2, 2, 2)))

    assert spread.moved(work) == (0, 0)
    assert all("mod_mul" in member.operations for member in spread.members)


def test_shapes_move_nothing(spread):
    a = spread.load(VALUES)

    def work():
        reversed_ = spread.engine.take(a, np.arange(8, dtype=np.int64)[::-1].copy())
        joined = spread.engine.concatenate([a, reversed_])
        assert spread.owners(joined) == HALVES + HALVES[::-1]
        assert spread.owners(spread.engine.take(spread.engine.reshape(joined, (4, 4)), np.array([[15, 0, 7]]))) == [
            0,
            0,
            1,
        ]

    assert spread.moved(work) == (0, 0)


@pytest.mark.parametrize(
    ("owners", "count"), [(HALVES, 0), ([0, 0, 0, 1, 0, 1, 1, 1], 2), (HALVES[::-1], 8), ([0] * 8, 4), ([1] * 8, 4)]
)
def test_only_what_lies_elsewhere_moves(spread, owners, count):
    a, b = spread.load(VALUES), spread.load_cut(VALUES[::-1], owners)
    assert spread.owners(b) == owners
    found = []
    assert spread.moved(lambda: found.append(spread.engine.mod_mul(a, b))) == (count, count)
    assert spread.owners(found[0]) == HALVES
    assert ints(found[0]) == [3**9] * 8


def test_a_row_moves_once_to_those_that_lack_it(spread):
    a, row = spread.load([[5] * 4, [7] * 4, [11] * 4, [13] * 4]), spread.load_cut([1, 2, 3, 4], [0, 0, 0, 1])
    found = []
    assert spread.moved(lambda: found.append(spread.engine.mod_mul(a, row))) == (4, 4)
    assert ints(found[0]) == [x * y for x in (5, 7, 11, 13) for y in (1, 2, 3, 4)]


def test_a_single_residue_is_taken_to_each_member_once(spread):
    a, single = spread.load(VALUES), spread.load(2)
    assert spread.moved(lambda: spread.engine.mod_mul(a, single)) == (1, 1)
    assert spread.moved(lambda: spread.engine.mod_mul(single, a)) == (0, 0)
    assert ints(spread.engine.mod_mul(single, a)) == [2 * value for value in VALUES]
    assert len(spread.engine._copies) == 1


def test_copies_of_a_single_residue_go_with_it(spread):
    a = spread.load(VALUES)
    spread.engine.mod_mul(a, spread.load(2))
    gc.collect()
    assert len(spread.engine._copies) == 0


def test_powers_of_what_lies_whole_are_cut_and_products_are_not(spread):
    whole = spread.load_cut(VALUES, [1] * 8)
    assert spread.owners(spread.engine.mod_mul(whole, whole)) == [1] * 8
    exponents = limbs_from_ints([5] * 8, 1)
    found = []
    assert spread.moved(lambda: found.append(spread.engine.mod_exp(whole, exponents))) == (4, 4)
    assert spread.owners(found[0]) == HALVES
    assert ints(found[0]) == [pow(value, 5, N.value) for value in VALUES]


def test_a_product_moves_one_partial_product_a_result(spread):
    a = spread.load(VALUES)
    assert spread.moved(lambda: spread.engine.mod_product(a)) == (1, 1)
    table = spread.engine.reshape(a, (4, 2))
    # Column by column: both members have factors of both; row by row each has all there are.
    assert spread.moved(lambda: spread.engine.mod_product(table, 0)) == (2, 2)
    assert spread.moved(lambda: spread.engine.mod_product(table, 1)) == (0, 0)
    assert spread.owners(spread.engine.mod_product(table, 1)) == [0, 0, 1, 1]


def test_a_segment_of_one_member_stays_with_it(spread):
    a = spread.load(VALUES)
    segments = np.array([0, 0, 1, 2, 2, 3, 3, 3])
    found = []
    assert spread.moved(lambda: found.append(spread.engine.mod_segment_product(a, segments, 5))) == (1, 1)
    assert ints(found[0]) == [3**3, 3**3, 3**9, 3**21 % N.value, 1]


def test_members_of_segments_stay_where_they_lie(spread):
    a = spread.load(VALUES)
    members, segments = np.array([7, 0, 0, 7, 1, 6]), np.array([2, 0, 1, 1, 0, 2])
    found = []
    assert spread.moved(lambda: found.append(spread.engine.mod_segment_product(a, segments, 4, members))) == (1, 1)
    assert ints(found[0]) == [
        v % N.value for v in (VALUES[0] * VALUES[1], VALUES[0] * VALUES[7], VALUES[7] * VALUES[6], 1)
    ]


def test_a_matrix_product_moves_its_partial_results_alone(spread):
    a = spread.load(VALUES)
    exponents = limbs_from_ints([i + j for i in range(8) for j in range(6)], 1).reshape(8, 6, 1)
    found = []
    assert spread.moved(lambda: found.append(spread.engine.mod_multi_exp(a, exponents))) == (6, 6)
    assert spread.owners(found[0]) == [0] * 3 + [1] * 3
    expected = [pow(3, sum((i + 1) * (i + j) for i in range(8)), N.value) for j in range(6)]
    assert ints(found[0]) == expected
