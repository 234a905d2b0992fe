"""Conformance: every modular operation on structured residues, modulo structured numbers of sizes around thresholds.

The quick tests take each size with a shape that turns with the operation, and a sample of the residues; the long ones
take every shape and every residue.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from tests.conformance.sizes import also_long

from hekat.engine.interface import Modulus
from hekat.errors import InputError

# Around whole limbs of 52 and 64 bits, tiles of 512, and the sizes of keys.
BITS = [
    512,
    513,
    516,
    518,
    519,
    520,
    521,
    571,
    572,
    573,
    1000,
    1023,
    1024,
    1025,
    1038,
    1039,
    1040,
    1041,
    2047,
    2048,
    2049,
]
BITS += [2076, 2078, 2079, 2080, 2081, 3071, 3072, 4096, 6144, 8192]
# Of these the quick run has but 2048, 2080 and 4096.
LARGE = [2047, 2049, 2076, 2078, 2079, 2081, 3071, 3072, 6144, 8192]
SHAPES = ["ones", "below", "above", "random", "hole of 52", "hole of 64"]


def check_in_and_out(engine, numbers, operands, modulus, most):
    values = numbers.objects(operands.residues(modulus, most), (-1,))
    numbers.same(numbers.store(numbers.load(engine, values, modulus)), values)


def check_reduce(engine, numbers, operands, modulus, most):
    n, width = modulus.value, 128 * modulus.limb_count
    low, high = operands.residues(modulus, most), operands.residues(modulus, most)[::-1]
    values = [x + y % ((1 << width) // n - 1) * n for x, y in zip(low, high, strict=True)]
    values += [x << shift for x in low[:8] for shift in (52, 64, width - modulus.bits)]
    values += [(1 << width) - 1 - x for x in low[:8]] + [(1 << width) // n * n - 1, n, 2 * n - 1, 2 * n]
    array = numbers.objects([value % (1 << width) for value in values], (-1,))
    numbers.same(numbers.store(engine.reduce(numbers.limbs(array, width // 64), modulus)), array % n)


def check_mod_mul(engine, numbers, operands, modulus, most):
    n = modulus.value
    values = operands.residues(modulus, most)
    pairs = list(operands.landing_pairs(modulus))
    for turn in (0, 1, len(values) // 2):
        pairs += zip(values, values[turn:] + values[:turn], strict=True)
    pairs += [(x, y) for x in values[:12] for y in values[:12]]
    left, right = (numbers.objects([pair[i] for pair in pairs], (-1,)) for i in (0, 1))
    found = engine.mod_mul(numbers.load(engine, left, modulus), numbers.load(engine, right, modulus))
    numbers.same(numbers.store(found), left * right % n)


def check_powers(operation):
    def check(engine, numbers, operands, modulus, most):
        bases = numbers.objects(operands.residues(modulus, most and most // 2), (-1,))
        a = numbers.load(engine, bases, modulus)
        for values, limb_count in (([0, 1, 2, 3], 1), ([(1 << 64) - 1, 0xFFFF << 40, 1 << 63], 1), ([1 << 64 | 5], 2)):
            exponents = numbers.objects([values[i % len(values)] for i in range(len(bases))], (len(bases),))
            found = getattr(engine, operation)(a, numbers.limbs(exponents, limb_count))
            numbers.same(numbers.store(found), numbers.power(bases, exponents, modulus.value))

    return check


def check_fixed_base(engine, numbers, operands, modulus, most):
    values = operands.residues(modulus, most)
    exponents = numbers.objects([0, 1, 2, 31, 32, (1 << 70) - 1, 1 << 69, 0x5555 << 50, 3], (9,))
    chosen = values[:6] + values[-2:] if most else values[:: max(1, len(values) // 60)]
    for i, base in enumerate(chosen):
        table = engine.fixed_base_table(
            numbers.limbs(base, modulus.limb_count), modulus, 70, (None, 1, 4, 5)[i % 4] if most is None else 3 + i % 3
        )
        found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 2))
        numbers.same(numbers.store(found), numbers.power(base, exponents, modulus.value))


def check_mod_product(engine, numbers, operands, modulus, most):
    values = operands.residues(modulus, most)[1:]
    rows = numbers.objects(values[: len(values) // 7 * 7], (-1, 7))
    a = numbers.load(engine, rows, modulus)
    for axis in (0, 1):
        found = numbers.store(engine.mod_product(a, axis))
        numbers.same(found, product_along(numbers, rows, axis, modulus.value))
    pairs = numbers.objects([value for pair in operands.landing_pairs(modulus) for value in pair], (-1, 2))
    found = numbers.store(engine.mod_product(numbers.load(engine, pairs, modulus), 1))
    numbers.same(found, product_along(numbers, pairs, 1, modulus.value))


def product_along(numbers, rows, axis, n):
    result = numbers.objects([1] * rows.shape[1 - axis], (-1,))
    for line in np.moveaxis(rows, axis, 0):
        result = result * line % n
    return result


def check_segment_product(engine, numbers, operands, modulus, most):
    values = operands.residues(modulus, most)[1:]
    segments = np.arange(len(values)) * 5 % 13 + np.arange(len(values)) % 2 * 13
    expected = [1] * 27
    for value, segment in zip(values, segments, strict=True):
        expected[segment] = expected[segment] * value % modulus.value
    a = numbers.load(engine, numbers.objects(values, (-1,)), modulus)
    numbers.same(numbers.store(engine.mod_segment_product(a, segments, 27)), numbers.objects(expected, (27,)))


def check_multi_exp(engine, numbers, operands, modulus, most):
    units = operands.units(modulus, most and most // 2)
    exponents = numbers.objects(
        [(0, 1, 2, 5, 255, 1 << 31, (1 << 32) - 1, 77)[i % 8] for i in range(3 * len(units))], (-1, 3)
    )
    negative = np.arange(3 * len(units)).reshape(-1, 3) % 7 == 1
    a = numbers.load(engine, numbers.objects(units, (-1,)), modulus)
    found = numbers.store(engine.mod_multi_exp(a, numbers.limbs(exponents, 1), negative))
    signed = np.where(negative, -exponents, exponents)
    powers = numbers.power(numbers.objects(units, (-1, 1)), signed, modulus.value)
    numbers.same(found, product_along(numbers, powers, 0, modulus.value))


def check_mod_inv(engine, numbers, operands, modulus, most):
    units = operands.units(modulus, most)
    array = numbers.objects(units, (-1,))
    found = numbers.store(engine.mod_inv(numbers.load(engine, array, modulus)))
    numbers.same(found, numbers.power(array, -1, modulus.value))
    others = [value for value in operands.residues(modulus, most) if gcd(value, modulus.value) != 1]
    for other in others[:3]:
        array = numbers.objects([1, modulus.value - 1, other], (3,))
        with pytest.raises(InputError, match="index 2 has no inverse"):
            engine.mod_inv(numbers.load(engine, array, modulus))


CHECKS = {
    "in and out": check_in_and_out,
    "reduce": check_reduce,
    "mod_mul": check_mod_mul,
    "mod_exp": check_powers("mod_exp"),
    "mod_exp_vartime": check_powers("mod_exp_vartime"),
    "mod_exp_fixed": check_fixed_base,
    "mod_product": check_mod_product,
    "mod_segment_product": check_segment_product,
    "mod_multi_exp": check_multi_exp,
    "mod_inv": check_mod_inv,
}


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("bits", [bits for bits in BITS if bits not in LARGE])
@pytest.mark.parametrize("operation", CHECKS)
def test_structured_residues(engine, numbers, operands, bits, operation):
    shape = SHAPES[(BITS.index(bits) + list(CHECKS).index(operation)) % len(SHAPES)]
    most = max(12, min(40, 60_000 // bits))
    CHECKS[operation](engine, numbers, operands, operands.modulus(bits, shape), most)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bits", also_long(BITS, LARGE))
def test_products_modulo_every_shape(engine, numbers, operands, bits, shape):
    check_mod_mul(engine, numbers, operands, operands.modulus(bits, shape), 12)


# Sums of products gather most in a word where every limb of both factors and of the modulus is full.
@pytest.mark.parametrize("bits", also_long([8320, 16328, 16380, 16384], [16328, 16380]))
def test_full_limbs_beyond_the_sizes_of_keys(engine, numbers, bits):
    modulus = Modulus((1 << bits) - 1)
    n = modulus.value
    values = numbers.objects([n - 1, n >> 1, n - (1 << 52), n - (1 << 64), n // 3, n - 2], (-1,))
    a = numbers.load(engine, values, modulus)
    numbers.same(numbers.store(engine.mod_mul(a, engine.reshape(a, (6, 1)))), values * values.reshape(6, 1) % n)
    numbers.same(numbers.store(engine.mod_exp(a, numbers.limbs(3, 1))), numbers.power(values, 3, n))


@pytest.mark.long
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("operation", CHECKS)
def test_every_structured_residue(engine, numbers, operands, bits, shape, operation):
    # Every residue of the largest sizes would take the reference hours.
    most = None if bits < 1100 and "exp" not in operation else 50_000 // bits
    CHECKS[operation](engine, numbers, operands, operands.modulus(bits, shape), most)
