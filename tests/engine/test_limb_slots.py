"""Slots against Python integers, at every width and across limb borders."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.limb_slots import add_constant, read_slots, repeat_in_slots, write_slots
from hekat.engine.limbs import ints_from_limbs, limbs_for_bits, limbs_from_ints


@pytest.mark.parametrize("slot_bits", range(1, 65))
def test_slots_hold_what_python_integers_say(slot_bits: int) -> None:
    rng = np.random.default_rng(slot_bits)
    slots, count = 37, 5
    fields = rng.integers(0, 2**64, size=(count, slots), dtype=np.uint64) & np.uint64(2**slot_bits - 1)
    fields[0] = np.uint64(2**slot_bits - 1)
    fields[1, ::2] = 0
    limb_count = limbs_for_bits(slots * slot_bits)
    limbs = write_slots(fields, slot_bits, limb_count)
    expected = [sum(int(f) << (slot_bits * i) for i, f in enumerate(row)) for row in fields]
    assert ints_from_limbs(limbs) == expected
    np.testing.assert_array_equal(read_slots(limbs, slot_bits, slots), fields)


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 2100])
def test_blocks_join_without_a_seam(count: int) -> None:
    rng = np.random.default_rng(count)
    fields = rng.integers(0, 2**20, size=(count, 13), dtype=np.uint64)
    limbs = write_slots(fields, 20, 5)
    assert limbs.shape == (count, 5)
    assert ints_from_limbs(limbs) == [sum(int(f) << (20 * i) for i, f in enumerate(row)) for row in fields]
    np.testing.assert_array_equal(read_slots(limbs, 20, 13), fields)
    assert ints_from_limbs(add_constant(limbs, 2**300)) == [v + 2**300 for v in ints_from_limbs(limbs)]


@pytest.mark.parametrize("constant", [0, 1, -1, 2**64 - 1, 2**64, -(2**64), 2**191 - 1, -(2**191), 2**192 - 1])
def test_add_constant_wraps_at_the_last_limb(constant: int) -> None:
    edge = [0, 1, 2**64 - 1, 2**64, 2**128 - 1, 2**128, 2**191, 2**192 - 1, 2**192 - 2**64]
    limbs = limbs_from_ints(edge, 3)
    assert ints_from_limbs(add_constant(limbs, constant)) == [(v + constant) % 2**192 for v in edge]
    assert ints_from_limbs(limbs) == edge


@pytest.mark.parametrize(("field", "slot_bits", "slots"), [(1, 1, 64), (5, 3, 7), (2**63, 64, 33), (0, 9, 4)])
def test_repeat_in_lanes(field: int, slot_bits: int, slots: int) -> None:
    assert repeat_in_slots(field, slot_bits, slots) == sum(field << (slot_bits * i) for i in range(slots))
