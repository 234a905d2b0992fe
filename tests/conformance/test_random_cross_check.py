"""Conformance, long: seeded random operands of every size against GMP, well over 10^5 results an engine."""

from __future__ import annotations

from math import gcd

import gmpy2
import numpy as np
import pytest

pytestmark = pytest.mark.long

# Bits of the modulus, and how many residues each operation is tried with.
SIZES = [
    (3, 4000),
    (33, 4000),
    (64, 4000),
    (65, 4000),
    (127, 4000),
    (129, 4000),
    (300, 3000),
    (512, 2000),
    (1000, 800),
    (1024, 800),
    (2047, 300),
    (2048, 300),
    (3071, 150),
    (4096, 100),
    (8192, 20),
]


def draw(numbers, rng, bits, count):
    """Integers below 2^bits: half uniform, half runs of ones and zeros, which carry furthest."""
    values = []
    for i in range(count):
        value = int.from_bytes(rng.bytes(-(-bits // 8)), "little") % (1 << bits)
        if i % 2:
            lengths = rng.geometric(min(0.5, 8 / bits), 64)
            value, position = 0, 0
            for j, length in enumerate(lengths):
                value |= (((1 << int(length)) - 1) if j % 2 else 0) << position
                position += int(length)
            value = (value ^ (-(i // 2 % 2) & ((1 << bits) - 1))) % (1 << bits)
        values.append(value)
    return numbers.objects(values, (count,))


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize(("bits", "count"), SIZES)
def test_modular_operations_agree_with_gmp(engine, numbers, bits, count, seed):
    rng = np.random.default_rng([bits, seed])
    modulus = numbers.modulus(bits, "random", seed)
    n = gmpy2.mpz(modulus.value)
    a, b = draw(numbers, rng, bits, count) % modulus.value, draw(numbers, rng, bits, count) % modulus.value
    wide = draw(numbers, rng, 128 * modulus.limb_count, count)
    e = draw(numbers, rng, 64, count)
    left, right = numbers.load(engine, a, modulus), numbers.load(engine, b, modulus)
    numbers.same(numbers.store(engine.mod_mul(left, right)), [int(x * y % n) for x, y in zip(a, b, strict=True)])
    numbers.same(numbers.store(engine.reduce(numbers.limbs(wide, 2 * modulus.limb_count), modulus)), wide % int(n))
    powers = [int(gmpy2.powmod(x, y, n)) for x, y in zip(a, e, strict=True)]
    numbers.same(numbers.store(engine.mod_exp(left, numbers.limbs(e, 1))), powers)
    numbers.same(numbers.store(engine.mod_exp_vartime(left, numbers.limbs(e, 1))), powers)
    table = engine.fixed_base_table(numbers.limbs(a[0], modulus.limb_count), modulus, 64)
    fixed = [int(gmpy2.powmod(a[0], y, n)) for y in e]
    numbers.same(numbers.store(engine.mod_exp_fixed(table, numbers.limbs(e, 1))), fixed)
    units = numbers.objects([x if gcd(x, int(n)) == 1 else 1 for x in a], (count,))
    inverses = [int(gmpy2.invert(x, n)) for x in units]
    numbers.same(numbers.store(engine.mod_inv(numbers.load(engine, units, modulus))), inverses)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bits", [65, 512, 2048])
def test_combining_operations_agree_with_gmp(engine, numbers, bits, seed):
    rng = np.random.default_rng([bits, seed])
    modulus = numbers.modulus(bits, "random", seed)
    n = gmpy2.mpz(modulus.value)
    k, m = int(rng.integers(1, 60)), int(rng.integers(1, 6))
    a = draw(numbers, rng, bits, k) % modulus.value
    units = numbers.objects([x if gcd(x, int(n)) == 1 else 1 for x in a], (k,))
    e = draw(numbers, rng, 128, k * m).reshape(k, m)
    negative = rng.integers(0, 2, (k, m)).astype(np.bool_)
    expected = []
    for j in range(m):
        result = gmpy2.mpz(1)
        for i in range(k):
            result = result * gmpy2.powmod(units[i], -e[i, j] if negative[i, j] else e[i, j], n) % n
        expected.append(int(result))
    found = engine.mod_multi_exp(numbers.load(engine, units, modulus), numbers.limbs(e, 2), negative)
    numbers.same(numbers.store(found), expected)
    segments = rng.integers(0, m, k)
    groups = [gmpy2.mpz(1)] * m
    for value, segment in zip(a, segments, strict=True):
        groups[segment] = groups[segment] * value % n
    found = engine.mod_segment_product(numbers.load(engine, a, modulus), segments, m)
    numbers.same(numbers.store(found), [int(group) for group in groups])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("limbs", [(1, 1), (2, 1), (1, 3), (4, 2), (5, 4), (9, 3), (33, 32), (64, 20), (129, 65)])
@pytest.mark.size_bits(64)
def test_integer_operations_agree_with_gmp(engine, numbers, limbs, seed):
    rng = np.random.default_rng([*limbs, seed])
    count = 400
    a = draw(numbers, rng, 64 * limbs[0] - int(rng.integers(0, 63)), count)
    b = draw(numbers, rng, 64 * limbs[1] - int(rng.integers(0, 63)), count)
    b = numbers.objects([value or 1 for value in b], (count,))
    pairs = [(gmpy2.mpz(x), gmpy2.mpz(y)) for x, y in zip(a, b, strict=True)]
    a_limbs, b_limbs = numbers.limbs(a, limbs[0]), numbers.limbs(b, limbs[1])
    numbers.same(numbers.ints(engine.int_add(a_limbs, b_limbs)), [int(x + y) for x, y in pairs])
    numbers.same(numbers.ints(engine.int_mul(a_limbs, b_limbs)), [int(x * y) for x, y in pairs])
    difference, below = engine.int_sub(a_limbs, b_limbs)
    numbers.same(numbers.ints(difference), [int(abs(x - y)) for x, y in pairs])
    assert below.tolist() == [bool(x < y) for x, y in pairs]
    quotient, remainder = engine.int_divmod(a_limbs, b_limbs)
    numbers.same(numbers.ints(quotient), [int(x // y) for x, y in pairs])
    numbers.same(numbers.ints(remainder), [int(x % y) for x, y in pairs])
