"""Conformance: a modulus whose root is known gives the results of the same modulus without it, in every operation."""

from __future__ import annotations

from functools import reduce
from math import gcd

import numpy as np
import pytest
from tests.conformance.sizes import also_long

from hekat.engine.interface import Modulus
from hekat.errors import InputError

# Around limbs and tiles: where an engine may go from one form of residues to another.
BITS = [2, 3, 32, 33, 63, 64, 65, 127, 128, 447, 448, 449, 511, 512, 513, 1000, 1024, 1025, 1536, 2047, 2048]
SOME_BITS = [3, 64, 65, 127, 512, 1000, 1024, 2047]
# Of the largest the quick run has 1024 and 2048.
LARGE = [1025, 1536, 2047]
# "below" and "composite" lie just below a power of two; the latter is a multiple of 15.
KINDS = ["below", "above", "random", "composite"]


def root_of(bits, kind, numbers):
    """An odd number above 1 of `bits` bits."""
    top = 1 << bits - 1
    if kind == "below":
        return 2 * top - 1
    if kind == "above":
        return top + 1
    if kind == "random":
        return top | numbers.random_int(bits, 7) | 1
    n = 2 * top - 1 - (2 * top - 1) % 15
    return max(n if n % 2 else n - 15, 3)


def square(bits, kind, numbers):
    n = root_of(bits, kind, numbers)
    return Modulus(n * n, root=n)


def edge_values(modulus, numbers):
    """Ends of both halves of x0 + x1 n, multiples of n (no units), random values."""
    n, seeds = modulus.root, range(4)
    lower = [0, 1, 2, n // 2, n - 2, n - 1, n // 3, n // 5 * 3, numbers.random_int(modulus.bits, 1) % n]
    upper = [0, 1, n // 2, n - 1]
    values = {x + y * n for x in lower for y in upper} | {n, n + 1, n * n - 1, n * n - n}
    values |= {numbers.random_int(modulus.bits, seed) for seed in seeds}
    return sorted(value % modulus.value for value in values)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", also_long(BITS, LARGE))
def test_in_and_out(engine, numbers, bits, kind):
    modulus = square(bits, kind, numbers)
    values = numbers.objects(edge_values(modulus, numbers), (-1,))
    numbers.same(numbers.store(numbers.load(engine, values, modulus)), values)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", also_long(BITS, LARGE))
def test_every_edge_times_every_other(engine, numbers, bits, kind):
    modulus = square(bits, kind, numbers)
    values = numbers.objects(edge_values(modulus, numbers), (-1,))
    a = numbers.load(engine, values.reshape(-1, 1), modulus)
    found = engine.mod_mul(a, engine.reshape(a, (1, len(values))))
    numbers.same(numbers.store(found), values.reshape(-1, 1) * values % modulus.value)


def values_below_root(modulus, numbers):
    n = modulus.root
    return sorted({value % n for value in (0, 1, 2, n // 2, n // 2 + 1, n - 2, n - 1, numbers.random_int(2048, 3))})


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", also_long(BITS, LARGE))
def test_every_edge_times_one_plus_multiples_of_the_root(engine, numbers, bits, kind):
    modulus = square(bits, kind, numbers)
    residues = numbers.objects(edge_values(modulus, numbers), (-1, 1))
    values = numbers.objects(values_below_root(modulus, numbers), (-1,))
    width = numbers.limbs_for_bits(bits)
    found = engine.mod_mul_one_plus(numbers.load(engine, residues, modulus), numbers.limbs(values, width))
    numbers.same(numbers.store(found), residues * (1 + values * modulus.root) % modulus.value)
    # Fewer limbs than the root has, one value for all, all values for one residue.
    a = numbers.load(engine, residues[:, 0], modulus)
    found = engine.mod_mul_one_plus(a, numbers.limbs(1, 1))
    numbers.same(numbers.store(found), residues[:, 0] * (1 + modulus.root) % modulus.value)
    found = engine.mod_mul_one_plus(engine.reshape(engine.take(a, np.array([3])), ()), numbers.limbs(values, width))
    numbers.same(numbers.store(found), residues[3, 0] * (1 + values * modulus.root) % modulus.value)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
@pytest.mark.parametrize("bits", [512, 1000])
def test_one_plus_in_batches(engine, numbers, count, bits):
    modulus = square(bits, "random", numbers)
    residues = numbers.objects([numbers.random_int(2 * bits, i) % modulus.value for i in range(count)], (-1,))
    values = numbers.objects([numbers.random_int(bits, count + i) % modulus.root for i in range(count)], (-1,))
    found = engine.mod_mul_one_plus(
        numbers.load(engine, residues, modulus), numbers.limbs(values, numbers.limbs_for_bits(bits))
    )
    numbers.same(numbers.store(found), residues * (1 + values * modulus.root) % modulus.value)


@pytest.mark.parametrize("bits", [512, 1000])
def test_one_plus_of_no_residues_uses_no_value(engine, numbers, bits):
    """A value that is not below the root is refused only where it stands in a product."""
    modulus = square(bits, "random", numbers)
    none = engine.reshape(numbers.load(engine, numbers.objects([], (-1,)), modulus), (0, 1))
    found = engine.mod_mul_one_plus(none, np.full((1, 3, numbers.limbs_for_bits(bits)), 2**64 - 1, np.uint64))
    assert found.shape == (0, 3)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", also_long(BITS, LARGE))
def test_reduce_from_every_width(engine, numbers, bits, kind):
    modulus = square(bits, kind, numbers)
    for limb_count in sorted({1, modulus.limb_count, 2 * modulus.limb_count - 1, 2 * modulus.limb_count}):
        width = 64 * limb_count
        n2 = modulus.value
        values = [2**width - 1, 2**width - 2, 1 << width - 1, n2 - 1, n2, n2 + 1, modulus.root, n2 * n2 - 1, n2 * n2]
        values += [(2**width - 1) // n2 * n2, numbers.random_int(width, 1)]
        array = numbers.objects([value % 2**width for value in values], (-1,))
        numbers.same(numbers.store(engine.reduce(numbers.limbs(array, limb_count), modulus)), array % n2)


@pytest.mark.parametrize("bits", [512, 1024])
def test_load_refuses_the_modulus_itself(engine, numbers, bits):
    modulus = square(bits, "random", numbers)
    with pytest.raises(InputError, match="index 1 "):
        numbers.load(engine, numbers.objects([modulus.value - 1, modulus.value, 0], (3,)), modulus)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("operation", ["mod_exp", "mod_exp_vartime"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", also_long(SOME_BITS, LARGE))
def test_powers_of_edges(engine, numbers, bits, kind, operation):
    modulus = square(bits, kind, numbers)
    edges = numbers.objects(edge_values(modulus, numbers), (-1,))
    # Every edge to narrow exponents; to wide ones every edge of small moduli, and a part of the others'.
    for bases, powers in ((edges, [0, 1, 2, 3, 64]), (edges if bits < 512 else edges[::3], [2**127 + 5, 2**128 - 1])):
        exponents = numbers.objects(powers, (-1, 1))
        width = numbers.limbs_for_bits(max(powers).bit_length())
        found = getattr(engine, operation)(numbers.load(engine, bases, modulus), numbers.limbs(exponents, width))
        numbers.same(numbers.store(found), numbers.power(bases, exponents, modulus.value))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("window_bits", [None, 1, 5])
@pytest.mark.parametrize("bits", also_long(SOME_BITS, LARGE))
def test_fixed_base_powers(engine, numbers, bits, window_bits):
    modulus = square(bits, KINDS[bits % 4], numbers)
    exponents = numbers.objects([0, 1, 2, 31, 32, 2**69 - 1, 1 << 68, numbers.random_int(69, 2)] * 3, (-1,))
    for base in (modulus.root + 1, modulus.root, modulus.value - 1):
        limbs = numbers.limbs(base, modulus.limb_count)
        table = engine.fixed_base_table(limbs, modulus, 69, window_bits)
        found = engine.mod_exp_fixed(table, numbers.limbs(exponents, 2))
        numbers.same(numbers.store(found), numbers.power(base, exponents, modulus.value))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", also_long(SOME_BITS, LARGE))
def test_products_along_an_axis_and_per_segment(engine, numbers, bits, kind):
    modulus = square(bits, kind, numbers)
    units = [value for value in edge_values(modulus, numbers) if gcd(value, modulus.value) == 1]
    values = numbers.objects((units * 80)[:80], (80,))
    a = numbers.load(engine, values, modulus)
    found = numbers.store(engine.mod_product(engine.reshape(a, (4, 20)), 1))
    expected = [reduce(lambda x, y: x * y % modulus.value, row) for row in values.reshape(4, 20)]
    numbers.same(found, numbers.objects(expected, (4,)))
    segments = np.arange(80) % 3
    found = numbers.store(engine.mod_segment_product(a, segments, 4))
    expected = [reduce(lambda x, y: x * y % modulus.value, values[segments == s], 1) for s in range(4)]
    numbers.same(found, numbers.objects(expected, (4,)))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("exponent_bits", [5, 64, 100])
@pytest.mark.parametrize("bits", also_long(SOME_BITS, LARGE))
def test_multi_exponentiation_with_signs(engine, numbers, bits, exponent_bits):
    modulus = square(bits, KINDS[(bits + exponent_bits) % 4], numbers)
    n2 = modulus.value
    bases = edge_values(modulus, numbers)
    count = len(bases)
    rng = np.random.default_rng(bits)
    powers = numbers.objects([numbers.random_int(exponent_bits, seed) for seed in range(3 * count)], (count, 3))
    invertible = np.array([gcd(base, n2) == 1 for base in bases])
    negative = rng.random((count, 3)) < 0.5
    negative &= invertible[:, np.newaxis]
    found = engine.mod_multi_exp(
        numbers.load(engine, numbers.objects(bases, (count,)), modulus), numbers.limbs(powers, 2), negative
    )
    signed = np.where(negative, -powers, powers)
    factors = numbers.power(numbers.objects(bases, (count, 1)), signed, n2)
    expected = [reduce(lambda x, y: x * y % n2, column) for column in factors.T]
    numbers.same(numbers.store(found), numbers.objects(expected, (3,)))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", also_long(BITS, LARGE))
def test_inverses_of_units(engine, numbers, bits, kind):
    modulus = square(bits, kind, numbers)
    units = [value for value in edge_values(modulus, numbers) if gcd(value, modulus.value) == 1]
    a = numbers.load(engine, numbers.objects(units, (-1,)), modulus)
    expected = numbers.power(numbers.objects(units, (-1,)), -1, modulus.value)
    numbers.same(numbers.store(engine.mod_inv(a)), expected)
    numbers.same(numbers.store(engine.mod_mul(a, engine.mod_inv(a))), numbers.objects([1] * len(units), (-1,)))


@pytest.mark.parametrize("bits", also_long(SOME_BITS, LARGE))
def test_multiples_of_the_root_have_no_inverse(engine, numbers, bits):
    modulus = square(bits, "random", numbers)
    for culprit in (0, modulus.root, modulus.value - modulus.root):
        values = numbers.objects([1, modulus.value - 1, culprit, 2], (4,))
        with pytest.raises(InputError, match="index 2 "):
            engine.mod_inv(numbers.load(engine, values, modulus))


@pytest.mark.parametrize("bits", [64, 1000, 1024])
def test_shape_operations_keep_the_residues(engine, numbers, bits):
    modulus = square(bits, "random", numbers)
    values = numbers.objects(edge_values(modulus, numbers)[:12], (12,))
    a = numbers.load(engine, values, modulus)
    picked = engine.take(a, np.array([11, 0, 0, 5], np.int64))
    joined = engine.concatenate([picked, engine.reshape(engine.reshape(a, (3, 4)), (12,))])
    numbers.same(numbers.store(joined), np.concatenate([values[[11, 0, 0, 5]], values]))


@pytest.mark.parametrize(("value", "root"), [(9, 5), (15, 3), (9, -3), (9, 0), (2**128 + 1, 2**64)])
def test_a_root_that_is_none_is_refused(value, root):
    with pytest.raises(InputError, match="root"):
        Modulus(value, root=root)
