"""Conformance: mod_mul, mod_product, mod_segment_product."""

from __future__ import annotations

from functools import reduce
from operator import mul

import numpy as np
import pytest
from tests.conformance.sizes import also_long

from hekat.engine.interface import Modulus

BITS = [3, 64, 65, 127, 128, 129, 448, 511, 512, 513, 1000, 1024, 1025, 2047, 2048, 3071, 4096]
KINDS = ["ones", "sparse", "random"]


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", also_long([*BITS, 8192], [2047, 3071, 8192]))
def test_mod_mul_of_every_pattern_with_every_other(engine, numbers, bits, kind):
    modulus = numbers.modulus(bits, kind)
    values = numbers.objects(sorted(set(numbers.patterns(modulus))), (-1,))
    found = engine.mod_mul(
        numbers.load(engine, values.reshape(-1, 1), modulus), numbers.load(engine, values.reshape(1, -1), modulus)
    )
    numbers.same(numbers.store(found), values.reshape(-1, 1) * values % modulus.value)


@pytest.mark.size_bits(2)
def test_mod_mul_modulo_three_in_full(engine, numbers):
    modulus = Modulus(3)
    values = numbers.objects([0, 1, 2], (3,))
    found = engine.mod_mul(numbers.load(engine, values.reshape(3, 1), modulus), numbers.load(engine, values, modulus))
    numbers.same(numbers.store(found), numbers.objects([0, 0, 0, 0, 1, 2, 0, 2, 1], (3, 3)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((), ()),
        ((), (4,)),
        ((0,), (0,)),
        ((0,), (1,)),
        ((1,), (1,)),
        ((7,), (7,)),
        ((8,), (1,)),
        ((1,), (9,)),
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
        ((3, 1), (4,)),
        ((2, 1, 4), (3, 1)),
        ((3, 1), (0,)),
        ((150,), (150,)),
    ],
)
@pytest.mark.parametrize("bits", [129, 1024])
def test_mod_mul_broadcasts_as_numpy_does(engine, numbers, left, right, bits):
    modulus = numbers.modulus(bits, "random")
    a, b = numbers.residues(modulus, left, 1), numbers.residues(modulus, right, 2)
    found = engine.mod_mul(numbers.load(engine, a, modulus), numbers.load(engine, b, modulus))
    numbers.same(numbers.store(found), a * b % modulus.value)


@pytest.mark.size_bits(512)
def test_operands_stay_as_they_were(engine, numbers):
    modulus = numbers.modulus(512, "random")
    values = numbers.residues(modulus, (9,))
    a = numbers.load(engine, values, modulus)
    engine.mod_mul(a, a)
    engine.mod_exp(a, numbers.limbs(5, 1))
    engine.mod_product(a)
    numbers.same(numbers.store(a), values)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 33])
def test_mod_product_of_every_length(engine, numbers, bits, count):
    modulus = numbers.modulus(bits, "random")
    values = numbers.objects([modulus.value - 1 - i % 2 for i in range(count)], (count,))
    expected = reduce(mul, values, 1) % modulus.value
    found = numbers.store(engine.mod_product(numbers.load(engine, values, modulus)))
    numbers.same(found, numbers.objects([expected], ()))


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3, 4), 0), ((3, 4), 1), ((3, 4), -1), ((2, 3, 4), 1), ((2, 3, 4), -3), ((0, 3), 0), ((3, 0), 0), ((3, 0), 1)],
)
@pytest.mark.parametrize("bits", [129, 2048])
def test_mod_product_along_every_axis(engine, numbers, shape, axis, bits):
    modulus = numbers.modulus(bits, "random")
    values = numbers.objects([value or 1 for value in numbers.residues(modulus, shape).ravel()], shape)
    expected = np.multiply.reduce(values, axis=axis) % modulus.value
    found = numbers.store(engine.mod_product(numbers.load(engine, values, modulus), axis))
    numbers.same(found, expected)


@pytest.mark.size_bits(512)
def test_one_zero_makes_the_product_zero(engine, numbers):
    modulus = numbers.modulus(512, "random")
    values = numbers.objects([5, 0, modulus.value - 1], (3,))
    numbers.same(numbers.store(engine.mod_product(numbers.load(engine, values, modulus))), numbers.objects([0], ()))


@pytest.mark.parametrize("bits", [3, 129, 1024, 4096])
@pytest.mark.parametrize(
    ("segments", "segment_count"),
    [
        ([], 0),
        ([], 3),
        ([0], 1),
        ([0, 0, 0, 0, 0], 1),
        ([2, 0, 2, 5, 0, 2, 5, 5, 5], 7),
        ([4, 3, 2, 1, 0], 5),
        ([0] * 20 + [1] + [3] * 12, 5),
    ],
)
def test_mod_segment_product(engine, numbers, bits, segments, segment_count):
    modulus = numbers.modulus(bits, "random")
    values = numbers.objects([value or 1 for value in numbers.residues(modulus, (len(segments),))], (-1,))
    expected = [1] * segment_count
    for value, segment in zip(values, segments, strict=True):
        expected[segment] = expected[segment] * value % modulus.value
    found = engine.mod_segment_product(
        numbers.load(engine, values, modulus), np.array(segments, np.int64), segment_count
    )
    numbers.same(numbers.store(found), numbers.objects(expected, (segment_count,)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.size_bits(512)
def test_mod_segment_product_of_many(engine, numbers, seed):
    modulus = numbers.modulus(512, "random", seed)
    segments = np.random.default_rng(seed).integers(0, 37, 500)
    values = numbers.residues(modulus, (500,), seed)
    expected = [reduce(mul, values[segments == s], 1) % modulus.value for s in range(40)]
    found = engine.mod_segment_product(numbers.load(engine, values, modulus), segments, 40)
    numbers.same(numbers.store(found), numbers.objects(expected, (40,)))


@pytest.mark.parametrize("bits", [129, 1024])
@pytest.mark.parametrize(("count", "member_count"), [(0, 0), (5, 0), (1, 30), (9, 200), (200, 9)])
def test_mod_segment_product_of_members(engine, numbers, bits, count, member_count):
    """Members may come several times, in several segments, or never."""
    modulus = numbers.modulus(bits, "random")
    values = numbers.objects([value or 1 for value in numbers.residues(modulus, (count,))], (count,))
    rng = np.random.default_rng([bits, count, member_count])
    members, segments = rng.integers(0, max(count, 1), member_count), rng.integers(0, 6, member_count)
    expected = [1] * 7
    for member, segment in zip(members, segments, strict=True):
        expected[segment] = expected[segment] * values[member] % modulus.value
    found = engine.mod_segment_product(numbers.load(engine, values, modulus), segments, 7, members)
    numbers.same(numbers.store(found), numbers.objects(expected, (7,)))


@pytest.mark.parametrize(("shape", "axis"), [((4000,), 0), ((3, 1500), 1), ((1500, 3), 0)])
@pytest.mark.size_bits(513)
def test_mod_product_of_long_lines(engine, numbers, shape, axis):
    modulus = numbers.modulus(513, "random")
    values = numbers.objects([value or 1 for value in numbers.residues(modulus, shape).ravel()], shape)
    expected = np.apply_along_axis(lambda line: [reduce(lambda x, y: x * y % modulus.value, line)], axis, values)
    found = numbers.store(engine.mod_product(numbers.load(engine, values, modulus), axis))
    numbers.same(found, expected.reshape(found.shape))


@pytest.mark.parametrize("segment_count", [1, 3000])
@pytest.mark.size_bits(129)
def test_mod_segment_product_of_skewed_segments(engine, numbers, segment_count):
    modulus = numbers.modulus(129, "random")
    values = numbers.objects([value or 1 for value in numbers.residues(modulus, (4000,))], (4000,))
    segments = np.minimum(np.arange(4000) // 4, segment_count - 1)
    segments[::2] = 0
    expected = [1] * segment_count
    for value, segment in zip(values, segments, strict=True):
        expected[segment] = expected[segment] * value % modulus.value
    found = engine.mod_segment_product(numbers.load(engine, values, modulus), segments, segment_count)
    numbers.same(numbers.store(found), numbers.objects(expected, (segment_count,)))
