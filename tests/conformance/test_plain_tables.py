"""Conformance: fixed-base tables of plain look-ups, with windows up to the widest, and the uses they are made for."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.interface import Modulus
from hekat.errors import InputError


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("window_bits", [None, 1, 4, 7, 9, 13])
@pytest.mark.parametrize("exponent_bits", [1, 13, 64, 65, 130])
@pytest.mark.parametrize("bits", [3, 129])
def test_powers_from_plain_tables(engine, numbers, bits, exponent_bits, window_bits):
    modulus = numbers.modulus(bits, "random")
    values = [0, 1, 2, 2**exponent_bits - 1, 1 << exponent_bits - 1, numbers.random_int(exponent_bits, 1)]
    exponents = numbers.objects([value % 2**exponent_bits for value in values], (2, 3))
    for base in (0, 1, numbers.random_int(bits, 2) % modulus.value):
        limbs = numbers.limbs(base, modulus.limb_count)
        table = engine.fixed_base_table(limbs, modulus, exponent_bits, window_bits, uses=5, constant_time=False)
        assert not table.constant_time
        assert window_bits is None or window_bits == table.window_bits  # each engine has a default of its own
        found = engine.mod_exp_fixed(table, numbers.limbs(exponents, numbers.limbs_for_bits(exponent_bits)))
        numbers.same(numbers.store(found), numbers.power(base, exponents, modulus.value))


@pytest.mark.size_bits(65)
def test_the_widest_window(engine, numbers):
    modulus = numbers.modulus(65, "ones")
    table = engine.fixed_base_table(numbers.limbs(3, 1), modulus, 40, 16, constant_time=False)
    exponents = numbers.objects([2**40 - 1, 0xFFFF, 0x10000, 0xFFFF0000, 0], (5,))
    found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 1))
    numbers.same(numbers.store(found), numbers.power(3, exponents, modulus.value))


@pytest.mark.parametrize("root_bits", [512, 1024])
def test_plain_tables_of_square_moduli(engine, numbers, root_bits):
    root = numbers.modulus(root_bits, "random").value
    modulus = Modulus(root * root, root=root)
    base = modulus.value - 2
    table = engine.fixed_base_table(numbers.limbs(base, modulus.limb_count), modulus, 100, 5, constant_time=False)
    exponents = numbers.residues(numbers.modulus(100, "random"), (9,))
    found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 2))
    numbers.same(numbers.store(found), numbers.power(base, exponents, modulus.value))


@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (1, 0, 2), (300,)])
@pytest.mark.size_bits(512)
def test_plain_tables_keep_the_exponents_shape(engine, numbers, shape):
    modulus = numbers.modulus(512, "random")
    table = engine.fixed_base_table(numbers.limbs(7, modulus.limb_count), modulus, 100, constant_time=False)
    exponents = numbers.residues(numbers.modulus(100, "random"), shape)
    found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 2))
    numbers.same(numbers.store(found), numbers.power(7, exponents, modulus.value))


@pytest.mark.size_bits(512)
def test_wide_limbs_of_small_exponents(engine, numbers):
    modulus = numbers.modulus(512, "random")
    table = engine.fixed_base_table(numbers.limbs(7, 1), modulus, 64, constant_time=False)
    exponents = numbers.objects([2**64 - 1, 0, 5], (3,))
    found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 4))
    numbers.same(numbers.store(found), numbers.power(7, exponents, modulus.value))


@pytest.mark.parametrize(
    ("exponent_bits", "limbs"), [(8, [256]), (63, [1 << 63]), (64, [0, 1]), (65, [0, 2]), (65, [0, 0, 1])]
)
@pytest.mark.size_bits(129)
def test_too_wide_exponents_are_refused_by_index(engine, numbers, exponent_bits, limbs):
    modulus = numbers.modulus(129, "random")
    exponents = np.array([[0] * len(limbs), limbs, limbs], np.uint64)
    for constant_time in (True, False):
        table = engine.fixed_base_table(numbers.limbs(7, 1), modulus, exponent_bits, constant_time=constant_time)
        with pytest.raises(InputError, match=f"index 1 is wider than its fixed-base table.*2.{exponent_bits};"):
            engine.mod_exp_fixed(table, exponents)


@pytest.mark.parametrize("uses", [0, -1])
@pytest.mark.size_bits(65)
def test_uses_below_one_are_refused(engine, numbers, uses):
    with pytest.raises(InputError, match="uses of 1 or more"):
        engine.fixed_base_table(numbers.limbs(7, 1), numbers.modulus(65, "ones"), 8, uses=uses)


@pytest.mark.size_bits(65)
def test_tables_are_constant_time_unless_asked(engine, numbers):
    table = engine.fixed_base_table(numbers.limbs(7, 1), numbers.modulus(65, "ones"), 8)
    assert table.constant_time
