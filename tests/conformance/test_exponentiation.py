"""Conformance: mod_exp, mod_exp_vartime, fixed-base tables, mod_multi_exp."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conformance.sizes import also_long

from hekat.engine.interface import Modulus

BITS = [3, 64, 65, 127, 128, 129, 448, 511, 512, 513, 1000, 1024, 1025, 2047, 2048, 3071, 4096]
KINDS = ["ones", "sparse", "random"]


def exponent_patterns(limb_count):
    """Exponents that fit `limb_count` limbs: ends, single bits, all ones, window-straddling runs."""
    width = 64 * limb_count
    values = [0, 1, 2, 3, 15, 16, 31, 32, 2**width - 1, 1 << width - 1, (1 << width - 1) - 1]
    values += [sum(1 << b for b in range(0, width, step)) for step in (2, 5, 6, 63)]
    return values


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("operation", ["mod_exp", "mod_exp_vartime"])
@pytest.mark.parametrize("limb_count", [1, 2, 3])
@pytest.mark.parametrize("bits", also_long(BITS, [2047, 3071, 4096]))
def test_powers_of_patterns_to_patterns(engine, numbers, bits, limb_count, operation):
    modulus = numbers.modulus(bits, KINDS[(bits + limb_count) % 3])
    exponents = numbers.objects(exponent_patterns(limb_count), (-1,))
    bases = numbers.residues(modulus, (len(exponents),), seed=limb_count)
    found = getattr(engine, operation)(numbers.load(engine, bases, modulus), numbers.limbs(exponents, limb_count))
    numbers.same(numbers.store(found), numbers.power(bases, exponents, modulus.value))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("operation", ["mod_exp", "mod_exp_vartime"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", [3, 65, 128, 512, 1024, 2048])
def test_every_pattern_as_a_base(engine, numbers, bits, kind, operation):
    modulus = numbers.modulus(bits, kind)
    bases = numbers.objects(numbers.patterns(modulus), (-1,))
    exponents = numbers.objects([0, 1, 2, 3, 2**64 - 1], (5, 1))
    found = getattr(engine, operation)(numbers.load(engine, bases, modulus), numbers.limbs(exponents, 1))
    numbers.same(numbers.store(found), numbers.power(bases, exponents, modulus.value))


@pytest.mark.parametrize("operation", ["mod_exp", "mod_exp_vartime"])
@pytest.mark.parametrize("bits", also_long([1024, 2048, 4096], [4096]))
def test_exponents_as_wide_as_the_modulus(engine, numbers, bits, operation):
    modulus = numbers.modulus(bits, "random")
    exponents = numbers.objects([2**bits - 1, modulus.value - 1, 1 << bits - 1, 1], (4,))
    bases = numbers.residues(modulus, (4,))
    limbs = numbers.limbs(exponents, modulus.limb_count)
    found = getattr(engine, operation)(numbers.load(engine, bases, modulus), limbs)
    numbers.same(numbers.store(found), numbers.power(bases, exponents, modulus.value))


# Different exponents go by fixed windows, whose width hangs on the longest one's bits: fewer than its limbs hold.
@pytest.mark.parametrize("exponent_bits", [1, 193, 955, 1895, 1920])
@pytest.mark.size_bits(129)
def test_different_exponents_of_any_length(engine, numbers, exponent_bits):
    modulus = numbers.modulus(129, "random")
    top = 1 << exponent_bits - 1
    exponents = numbers.objects([top | numbers.random_int(exponent_bits, i) >> i % 3 for i in range(64)], (64,))
    bases = numbers.residues(modulus, (64,))
    found = engine.mod_exp_vartime(numbers.load(engine, bases, modulus), numbers.limbs(exponents, 30))
    numbers.same(numbers.store(found), numbers.power(bases, exponents, modulus.value))


@pytest.mark.long
@pytest.mark.parametrize("bits", [8192, 16384])
def test_exponents_as_wide_as_the_largest_moduli(engine, numbers, bits):
    modulus = numbers.modulus(bits, "ones")
    count = 2 if bits == 8192 else 1
    exponents = numbers.objects([2**bits - 1, 1 << bits - 1][:count], (count,))
    bases = numbers.residues(modulus, (count,))
    found = engine.mod_exp(numbers.load(engine, bases, modulus), numbers.limbs(exponents, modulus.limb_count))
    numbers.same(numbers.store(found), numbers.power(bases, exponents, modulus.value))


@pytest.mark.size_bits(65)
def test_exponents_may_be_wider_than_the_modulus(engine, numbers):
    modulus = numbers.modulus(65, "random")
    exponents = numbers.objects([2**640 - 1, 0, 5], (3,))
    bases = numbers.residues(modulus, (3,))
    found = engine.mod_exp(numbers.load(engine, bases, modulus), numbers.limbs(exponents, 10))
    numbers.same(numbers.store(found), numbers.power(bases, exponents, modulus.value))


@pytest.mark.parametrize("operation", ["mod_exp", "mod_exp_vartime"])
@pytest.mark.size_bits(2)
def test_zero_to_the_zero_is_one(engine, numbers, operation):
    modulus = Modulus(3)
    zero = numbers.load(engine, numbers.objects([0, 0, 0], (3,)), modulus)
    exponents = numbers.limbs(numbers.objects([0, 1, 2], (3,)), 2)
    found = getattr(engine, operation)(zero, exponents)
    numbers.same(numbers.store(found), numbers.objects([1, 0, 0], (3,)))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("operation", ["mod_exp", "mod_exp_vartime"])
@pytest.mark.parametrize(
    ("base_shape", "exponent_shape"),
    [
        ((), ()),
        ((), (3,)),
        ((0,), (0,)),
        ((0,), ()),
        ((1,), (8,)),
        ((7,), ()),
        ((8,), (1,)),
        ((9,), (9,)),
        ((3, 4), (4,)),
        ((3, 1), (4,)),
        ((4,), (2, 3, 1)),
        ((1500,), (1500,)),
    ],
)
@pytest.mark.size_bits(129)
def test_exponents_broadcast_against_bases(engine, numbers, base_shape, exponent_shape, operation):
    modulus = numbers.modulus(129, "random")
    bases = numbers.residues(modulus, base_shape)
    exponents = numbers.residues(numbers.modulus(100, "random"), exponent_shape, 1)
    found = getattr(engine, operation)(numbers.load(engine, bases, modulus), numbers.limbs(exponents, 2))
    numbers.same(numbers.store(found), numbers.power(bases, exponents, modulus.value))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("window_bits", [None, 1, 2, 3, 4, 5, 7, 8])
@pytest.mark.parametrize("exponent_bits", [1, 2, 63, 64, 65, 130])
@pytest.mark.parametrize("bits", [3, 129, 1024])
def test_fixed_base_powers(engine, numbers, bits, exponent_bits, window_bits):
    modulus = numbers.modulus(bits, "random")
    limb_count = numbers.limbs_for_bits(exponent_bits)
    values = {0, 1, 2, 3, 2**exponent_bits - 1, 1 << exponent_bits - 1, numbers.random_int(exponent_bits, 1)}
    exponents = numbers.objects([value % 2**exponent_bits for value in values], (-1,))
    for base in (0, 1, modulus.value - 1, numbers.random_int(bits, 2) % modulus.value):
        table = engine.fixed_base_table(numbers.limbs(base, modulus.limb_count), modulus, exponent_bits, window_bits)
        assert table.exponent_bits == exponent_bits
        assert window_bits is None or window_bits == table.window_bits  # each engine has a default of its own
        found = engine.mod_exp_fixed(table, numbers.limbs(exponents, limb_count))
        numbers.same(numbers.store(found), numbers.power(base, exponents, modulus.value))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("window_bits", [9, 10, 11, 12, 16])
@pytest.mark.parametrize("exponent_bits", [1, 16, 33])
@pytest.mark.parametrize("bits", [3, 65, 129])
def test_fixed_base_powers_by_wide_windows(engine, numbers, bits, exponent_bits, window_bits):
    modulus = numbers.modulus(bits, "random")
    values = [0, 1, 2**exponent_bits - 1, *(numbers.random_int(exponent_bits, seed) for seed in range(17))]
    values += [1 << bit for bit in range(exponent_bits)]
    exponents = numbers.objects([value % 2**exponent_bits for value in values], (-1,))
    base = numbers.random_int(bits, 2) % modulus.value
    limbs = numbers.limbs(base, modulus.limb_count)
    table = engine.fixed_base_table(limbs, modulus, exponent_bits, window_bits, constant_time=True)
    assert (table.window_bits, table.constant_time) == (window_bits, True)
    found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 1))
    numbers.same(numbers.store(found), numbers.power(base, exponents, modulus.value))


@pytest.mark.parametrize("bits", [2048, 4096])
def test_fixed_base_powers_of_paillier_sizes(engine, numbers, bits):
    modulus = numbers.modulus(bits, "random")
    base = modulus.value - 2
    table = engine.fixed_base_table(numbers.limbs(base, modulus.limb_count), modulus, 256, 4)
    exponents = numbers.objects([2**256 - 1, 0, 1 << 255, numbers.random_int(256, 3)], (2, 2))
    found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 4))
    numbers.same(numbers.store(found), numbers.power(base, exponents, modulus.value))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (8,), (9,), (3, 4), (2000,)])
@pytest.mark.size_bits(512)
def test_fixed_base_keeps_the_exponents_shape(engine, numbers, shape):
    modulus = numbers.modulus(512, "random")
    table = engine.fixed_base_table(numbers.limbs(7, modulus.limb_count), modulus, 100)
    exponents = numbers.residues(numbers.modulus(100, "random"), shape)
    found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 2))
    numbers.same(numbers.store(found), numbers.power(7, exponents, modulus.value))


@pytest.mark.size_bits(512)
def test_fixed_base_accepts_wide_limbs_of_small_exponents(engine, numbers):
    modulus = numbers.modulus(512, "random")
    table = engine.fixed_base_table(numbers.limbs(7, 1), modulus, 10)
    exponents = numbers.objects([1023, 0, 512], (3,))
    found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 4))
    numbers.same(numbers.store(found), numbers.power(7, exponents, modulus.value))


def multi_exp_expected(numbers, bases, exponents, negative, n):
    result = numbers.objects([1] * exponents.shape[1], (-1,))
    for base, row, signs in zip(bases, exponents, negative, strict=True):
        result = result * numbers.power(base, np.where(signs, -row, row), n) % n
    return result


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("limb_count", [1, 2, 3])
@pytest.mark.parametrize(("k", "m"), [(0, 0), (0, 3), (3, 0), (1, 1), (1, 9), (2, 1), (7, 3), (8, 8), (17, 2), (40, 5)])
@pytest.mark.parametrize("bits", [3, 129, 1024])
def test_multi_exp_of_every_shape(engine, numbers, bits, k, m, limb_count):
    modulus = numbers.modulus(bits, "random")
    bases = numbers.residues(modulus, (k,), seed=m)
    patterns = exponent_patterns(limb_count)
    exponents = numbers.objects([patterns[(3 * i + 1) % len(patterns)] for i in range(k * m)], (k, m))
    found = engine.mod_multi_exp(
        numbers.load(engine, bases, modulus), numbers.limbs(exponents, limb_count), np.zeros((k, m), np.bool_)
    )
    expected = multi_exp_expected(numbers, bases, exponents, np.zeros((k, m), np.bool_), modulus.value)
    numbers.same(numbers.store(found), expected)


# Few terms or many, one product or many, narrow exponents or wide: each calls for another algorithm.
@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("k", "m", "exponent_bits"),
    [(2, 300, 16), (63, 1, 64), (64, 1, 64), (65, 2, 10), (129, 1, 190), (300, 12, 16), (1500, 1, 20), (3000, 2, 1)],
)
@pytest.mark.parametrize("bits", [129, 513])
def test_multi_exp_of_every_proportion(engine, numbers, bits, k, m, exponent_bits, signed):
    modulus = numbers.modulus(bits, "ones")
    rng = np.random.default_rng([k, m])
    bases = numbers.objects([pow(2, int(i), modulus.value) for i in rng.integers(1, 3 * bits, k)], (k,))
    values = [int.from_bytes(rng.bytes(24), "little") % 2**exponent_bits for _ in range(k * m)]
    exponents = numbers.objects(values, (k, m))
    negative = rng.integers(0, 2, (k, m)).astype(np.bool_) & signed
    limb_count = numbers.limbs_for_bits(exponent_bits)
    found = engine.mod_multi_exp(
        numbers.load(engine, bases, modulus), numbers.limbs(exponents, limb_count), negative if signed else None
    )
    numbers.same(numbers.store(found), multi_exp_expected(numbers, bases, exponents, negative, modulus.value))


@pytest.mark.parametrize("values", [[0], [1], [0, 1], [2], [2**64 - 1], [0, 2**63], [1, 2**16 - 1, 2**32]])
@pytest.mark.parametrize("bits", [65, 2048])
def test_multi_exp_of_small_and_special_exponents(engine, numbers, bits, values):
    modulus = numbers.modulus(bits, "random")
    bases = numbers.residues(modulus, (12,))
    exponents = numbers.objects([values[i % len(values)] for i in range(36)], (12, 3))
    found = engine.mod_multi_exp(numbers.load(engine, bases, modulus), numbers.limbs(exponents, 1))
    expected = multi_exp_expected(numbers, bases, exponents, np.zeros((12, 3), np.bool_), modulus.value)
    numbers.same(numbers.store(found), expected)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bits", also_long([3, 128, 1024, 4096], [4096]))
def test_multi_exp_with_minus_signs(engine, numbers, bits, seed):
    modulus = numbers.modulus(bits, "ones")
    rng = np.random.default_rng(seed)
    # Powers of two are coprime to an odd modulus, and so is n - 2^i.
    bases = numbers.objects([pow(2, int(i) + 1, modulus.value) for i in rng.integers(0, bits * 3, 9)], (9,))
    exponents = numbers.objects([int(e) for e in rng.integers(0, 2**63, 36)], (9, 4))
    exponents[0, 0] = exponents[4, 2] = 0
    negative = rng.integers(0, 2, (9, 4)).astype(np.bool_)
    found = engine.mod_multi_exp(numbers.load(engine, bases, modulus), numbers.limbs(exponents, 1), negative)
    numbers.same(numbers.store(found), multi_exp_expected(numbers, bases, exponents, negative, modulus.value))


@pytest.mark.size_bits(4)
def test_multi_exp_inverts_only_the_rows_with_a_minus_sign(engine, numbers):
    modulus = Modulus(15)
    bases = numbers.objects([3, 5, 2], (3,))
    exponents = numbers.objects([1, 2, 2, 1, 3, 1], (3, 2))
    negative = np.array([[False, False], [False, False], [True, False]])
    found = engine.mod_multi_exp(numbers.load(engine, bases, modulus), numbers.limbs(exponents, 1), negative)
    numbers.same(numbers.store(found), multi_exp_expected(numbers, bases, exponents, negative, 15))
