"""Conformance: batches that are empty, fill lanes of eight exactly, or miss that by one; and a million."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest

from hekat.engine.interface import Modulus
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints

COUNTS = [0, 1, 7, 8, 9, 15, 16, 17, 1000]
MODULI = [
    pytest.param(name, marks=pytest.mark.size_bits(bits))
    for name, bits in (("512", 512), ("1000", 1000), ("1024 squared", 1024))
]


@pytest.fixture(params=MODULI)
def modulus(request, numbers):
    bits, *squared = request.param.split()
    n = numbers.modulus(int(bits), "random").value
    return Modulus(n * n, root=n) if squared else Modulus(n)


@pytest.fixture(params=COUNTS)
def count(request):
    return request.param


@pytest.fixture
def values(numbers, modulus, count):
    return numbers.residues(modulus, (count,), seed=count)


def test_in_out_and_reduce(engine, numbers, modulus, count, values):
    numbers.same(numbers.store(numbers.load(engine, values, modulus)), values)
    wide = numbers.limbs(values + modulus.value * 3, 2 * modulus.limb_count)
    numbers.same(numbers.store(engine.reduce(wide, modulus)), values)


@pytest.mark.quick_values(engine="every")
def test_products(engine, numbers, modulus, count, values):
    a = numbers.load(engine, values, modulus)
    other = numbers.residues(modulus, (count,), seed=1)
    numbers.same(numbers.store(engine.mod_mul(a, numbers.load(engine, other, modulus))), values * other % modulus.value)
    one = numbers.load(engine, numbers.residues(modulus, (), seed=2), modulus)
    numbers.same(numbers.store(engine.mod_mul(a, one)), values * numbers.store(one).item() % modulus.value)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("operation", ["mod_exp", "mod_exp_vartime"])
def test_powers(engine, numbers, modulus, count, values, operation):
    if operation == "mod_exp":
        values = values[:17]
    exponents = numbers.objects([(i * 40503 + 1) % (1 << 17) for i in range(len(values))], (len(values),))
    a = numbers.load(engine, values, modulus)
    found = numbers.store(getattr(engine, operation)(a, numbers.limbs(exponents, 1)))
    numbers.same(found, numbers.power(values, exponents, modulus.value))


@pytest.mark.quick_values(engine="every")
def test_powers_of_one_base(engine, numbers, modulus, count):
    exponents = numbers.objects([(i * 40503 + 1) % (1 << 20) for i in range(count)], (count,))
    table = engine.fixed_base_table(numbers.limbs(modulus.value - 2, modulus.limb_count), modulus, 20, 4)
    found = numbers.store(engine.mod_exp_fixed(table, numbers.limbs(exponents, 1)))
    numbers.same(found, numbers.power(modulus.value - 2, exponents, modulus.value))


def running_products(numbers, rows, n):
    """The product of each row."""
    result = numbers.objects([1] * len(rows), (-1,))
    for column in rows.T:
        result = result * column % n
    return result


def test_products_of_that_many(engine, numbers, modulus, count, values):
    a = numbers.load(engine, values, modulus)
    expected = running_products(numbers, values.reshape(1, -1), modulus.value)
    numbers.same(numbers.store(engine.mod_product(a)).reshape(1), expected)
    found = engine.mod_segment_product(a, np.full(count, 2, np.int64), 4)
    numbers.same(numbers.store(found), numbers.objects([1, 1, expected[0], 1], (4,)))
    numbers.same(numbers.store(engine.mod_product(engine.reshape(a, (count, 1)), 1)), values)


@pytest.mark.quick_values(engine="every")
def test_that_many_products(engine, numbers, modulus, count):
    rows = numbers.residues(modulus, (count, 3), seed=count + 1)
    a = numbers.load(engine, rows, modulus)
    expected = running_products(numbers, rows, modulus.value)
    numbers.same(numbers.store(engine.mod_product(a, 1)), expected)
    segments = np.repeat(np.arange(count), 3)
    found = engine.mod_segment_product(engine.reshape(a, (3 * count,)), segments, count)
    numbers.same(numbers.store(found), expected)


@pytest.mark.quick_values(engine="every")
def test_multi_exp_of_that_many_terms_and_results(engine, numbers, modulus, count, values):
    few = numbers.residues(modulus, (3,), seed=3)
    for bases, m in ((values, 2), (few, count)):
        exponents = numbers.objects([(i * 40503 + 3) % (1 << 10) for i in range(len(bases) * m)], (len(bases), m))
        found = engine.mod_multi_exp(numbers.load(engine, bases, modulus), numbers.limbs(exponents, 1))
        powers = numbers.power(bases.reshape(-1, 1), exponents, modulus.value)
        numbers.same(numbers.store(found), running_products(numbers, powers.T, modulus.value))


def test_inverses(engine, numbers, modulus, count):
    units = numbers.objects([pow(2, 3 * i + 1, modulus.value) for i in range(count)], (count,))
    found = numbers.store(engine.mod_inv(numbers.load(engine, units, modulus)))
    numbers.same(found, numbers.power(units, -1, modulus.value))


MILLION = 1_000_000
SEED = 20261121


@pytest.fixture(scope="module")
def million(numbers):
    """A modulus of 512 bits; two times a million residues as limbs, and as numbers of GMP."""
    print(f"seed {SEED}")
    modulus = numbers.modulus(512, "ones")
    rng = np.random.default_rng(SEED)
    limbs = [rng.integers(0, 2**64, (MILLION, 8), np.uint64) for _ in range(2)]
    for array in limbs:
        array[::3, 5:] = 2**64 - 1
        array[1::7, 1:4] = 0
        array[:, 0] &= np.uint64(2**64 - 2)  # below the modulus, whatever the rest
    return modulus, limbs, [[gmpy2.mpz(value) for value in ints_from_limbs(array)] for array in limbs]


@pytest.mark.long
@pytest.mark.size_bits(512)
def test_a_million_products(engine, million):
    modulus, (left, right), (xs, ys) = million
    n = gmpy2.mpz(modulus.value)
    found = engine.store(engine.mod_mul(engine.load(left, modulus), engine.load(right, modulus)))
    expected = limbs_from_ints([x * y % n for x, y in zip(xs, ys, strict=True)], 8)
    assert np.array_equal(found, expected)


@pytest.mark.long
@pytest.mark.parametrize("segment_count", [1, 640, 700_000])
@pytest.mark.size_bits(512)
def test_a_million_residues_in_segments(engine, numbers, million, segment_count):
    modulus, (limbs, _), (xs, _) = million
    n = gmpy2.mpz(modulus.value)
    segments = np.random.default_rng([SEED, segment_count]).integers(0, segment_count, MILLION)
    expected = [gmpy2.mpz(1)] * segment_count
    for value, segment in zip(xs, segments.tolist(), strict=True):
        expected[segment] = expected[segment] * value % n
    a = engine.load(limbs, modulus)
    found = engine.store(engine.mod_segment_product(a, segments, segment_count))
    assert np.array_equal(found, limbs_from_ints(expected, 8))
    if segment_count == 1:
        assert np.array_equal(engine.store(engine.mod_product(a)), limbs_from_ints(expected, 8)[0])
