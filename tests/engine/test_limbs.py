"""Limbs: bits read across their borders, and signed integers as two's complement."""

from __future__ import annotations

import pytest

from hekat.engine.limbs import limbs_from_ints, read_from_bit
from hekat.engine.signed_limbs import integers_from_limbs, limbs_from_signed_ints


@pytest.mark.parametrize("first_bit", [0, 1, 63, 64, 65, 127, 128, 150, 191])
def test_read_from_bit(first_bit: int) -> None:
    values = [0, 2**192 - 1, 0x0123456789ABCDEF << 90, 1 << 191]
    fields = read_from_bit(limbs_from_ints(values, 3), first_bit)
    assert fields.tolist() == [(v >> first_bit) % 2**64 for v in values]


@pytest.mark.parametrize("limb_count", [1, 2, 3])
def test_signed_integers_come_back_from_twos_complement(limb_count: int) -> None:
    top = 1 << (64 * limb_count - 1)
    values = [0, 1, -1, top - 1, 1 - top, -top, 0x0123456789ABCDEF, -0x0123456789ABCDEF]
    limbs = limbs_from_signed_ints(values, limb_count)
    assert limbs.shape == (len(values), limb_count)
    assert integers_from_limbs(limbs).tolist() == values
    wrapped = limbs_from_ints([value % (2 * top) for value in values], limb_count)
    assert integers_from_limbs(wrapped).tolist() == values
