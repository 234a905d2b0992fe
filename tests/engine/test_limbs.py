"""Limbs: bits read across their borders."""

from __future__ import annotations

import pytest

from hekat.engine.limbs import limbs_from_ints, read_from_bit


@pytest.mark.parametrize("first_bit", [0, 1, 63, 64, 65, 127, 128, 150, 191])
def test_read_from_bit(first_bit: int) -> None:
    values = [0, 2**192 - 1, 0x0123456789ABCDEF << 90, 1 << 191]
    fields = read_from_bit(limbs_from_ints(values, 3), first_bit)
    assert fields.tolist() == [(v >> first_bit) % 2**64 for v in values]
