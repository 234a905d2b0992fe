"""Lanes against Python integers, at every width and across limb borders."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.codec.lanes import add_constant, read_lanes, repeat_in_lanes, write_lanes
from hekat.engine.limbs import ints_from_limbs, limbs_for_bits, limbs_from_ints


@pytest.mark.parametrize("lane_bits", range(1, 65))
def test_lanes_hold_what_python_integers_say(lane_bits: int) -> None:
    rng = np.random.default_rng(lane_bits)
    lanes, count = 37, 5
    fields = rng.integers(0, 2**64, size=(count, lanes), dtype=np.uint64) & np.uint64(2**lane_bits - 1)
    fields[0] = np.uint64(2**lane_bits - 1)
    fields[1, ::2] = 0
    limb_count = limbs_for_bits(lanes * lane_bits)
    limbs = write_lanes(fields, lane_bits, limb_count)
    expected = [sum(int(f) << (lane_bits * i) for i, f in enumerate(row)) for row in fields]
    assert ints_from_limbs(limbs) == expected
    np.testing.assert_array_equal(read_lanes(limbs, lane_bits, lanes), fields)


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 2100])
def test_blocks_join_without_a_seam(count: int) -> None:
    rng = np.random.default_rng(count)
    fields = rng.integers(0, 2**20, size=(count, 13), dtype=np.uint64)
    limbs = write_lanes(fields, 20, 5)
    assert limbs.shape == (count, 5)
    assert ints_from_limbs(limbs) == [sum(int(f) << (20 * i) for i, f in enumerate(row)) for row in fields]
    np.testing.assert_array_equal(read_lanes(limbs, 20, 13), fields)
    assert ints_from_limbs(add_constant(limbs, 2**300)) == [v + 2**300 for v in ints_from_limbs(limbs)]


@pytest.mark.parametrize("constant", [0, 1, -1, 2**64 - 1, 2**64, -(2**64), 2**191 - 1, -(2**191), 2**192 - 1])
def test_add_constant_wraps_at_the_last_limb(constant: int) -> None:
    edge = [0, 1, 2**64 - 1, 2**64, 2**128 - 1, 2**128, 2**191, 2**192 - 1, 2**192 - 2**64]
    limbs = limbs_from_ints(edge, 3)
    assert ints_from_limbs(add_constant(limbs, constant)) == [(v + constant) % 2**192 for v in edge]
    assert ints_from_limbs(limbs) == edge


@pytest.mark.parametrize(("field", "lane_bits", "lanes"), [(1, 1, 64), (5, 3, 7), (2**63, 64, 33), (0, 9, 4)])
def test_repeat_in_lanes(field: int, lane_bits: int, lanes: int) -> None:
    assert repeat_in_lanes(field, lane_bits, lanes) == sum(field << (lane_bits * i) for i in range(lanes))
