"""Conformance: mod_inv, and its refusal of what has no inverse."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest

from hekat.engine.interface import Modulus
from hekat.errors import InputError

pytestmark = pytest.mark.size_bits(150)  # where a case says nothing else

BITS = [3, 64, 65, 127, 128, 129, 448, 511, 512, 513, 1000, 1024, 1025, 2047, 2048, 3071, 4096]


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("kind", ["ones", "sparse", "random"])
@pytest.mark.parametrize("bits", BITS)
def test_inverses_of_every_invertible_pattern(engine, numbers, bits, kind):
    modulus = numbers.modulus(bits, kind)
    values = [value for value in numbers.patterns(modulus) if gcd(value, modulus.value) == 1]
    array = numbers.objects(values, (-1,))
    found = numbers.store(engine.mod_inv(numbers.load(engine, array, modulus)))
    numbers.same(found, numbers.power(array, -1, modulus.value))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (8,), (9,), (3, 4), (130,), (3000,)])
@pytest.mark.size_bits(127)
def test_inversion_keeps_the_shape(engine, numbers, shape):
    modulus = Modulus(2**127 - 1)
    values = numbers.objects([value or 1 for value in numbers.residues(modulus, shape).ravel()], shape)
    found = numbers.store(engine.mod_inv(numbers.load(engine, values, modulus)))
    numbers.same(found, numbers.power(values, -1, modulus.value))


@pytest.mark.parametrize(
    ("factors", "shape", "at", "named"),
    [
        ((3, 5), (1,), [0], "index 0"),
        ((3, 5), (9,), [8], "index 8"),
        ((3, 5), (9,), [2, 5], "index 2"),
        ((2**61 - 1, 2**89 - 1), (3, 4), [6], r"index \(1, 2\)"),
        pytest.param((2**521 - 1, 2**607 - 1), (20,), [13, 14, 19], "index 13", marks=pytest.mark.size_bits(1128)),
        ((2**61 - 1, 2**89 - 1), (2000,), [1999], "index 1999"),
        ((2**61 - 1, 2**89 - 1), (2000,), [1998, 600], "index 600"),
    ],
)
@pytest.mark.parametrize("multiple", [0, 1])
def test_what_has_no_inverse_is_named_by_its_index(engine, numbers, factors, shape, at, named, multiple):
    modulus = Modulus(factors[0] * factors[1])
    values = numbers.objects([2] * int(np.prod(shape)), (-1,))
    values[at] = multiple * factors[0]
    with pytest.raises(InputError, match=f"{named} has no inverse") as refusal:
        engine.mod_inv(numbers.load(engine, values.reshape(shape), modulus))
    assert str(factors[0]) not in str(refusal.value) or factors[0] < 10


@pytest.mark.size_bits(4)
def test_a_minus_sign_on_what_has_no_inverse_is_named_by_its_index(engine, numbers):
    modulus = Modulus(15)
    bases = numbers.load(engine, numbers.objects([2, 4, 5, 3], (4,)), modulus)
    negative = np.zeros((4, 2), np.bool_)
    negative[2:, 1] = True
    with pytest.raises(InputError, match="index 2 has no inverse"):
        engine.mod_multi_exp(bases, np.zeros((4, 2, 1), np.uint64), negative)
