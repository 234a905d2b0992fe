"""Conformance: mod_multi_exp with exponents of 1 to 1024 bits, and the terms that cost nothing or have no inverse."""

from __future__ import annotations

from itertools import pairwise, product
from math import gcd, prod

import numpy as np
import pytest

from hekat.engine.interface import Modulus
from hekat.engine.sparse_exponents import SparseExponents
from hekat.errors import InputError

EXPONENT_BITS = [1, 2, 23, 32, 63, 64, 65, 127, 1024]
# No terms, one; one more than eight; enough that buckets cost less than tables.
SHAPES = [(0, 1), (1, 1), (1, 5), (2, 1), (9, 3), (17, 8), (130, 1)]
SIGNS = ["none", "all positive", "mixed", "all negative"]


MODULI = [
    pytest.param("513", marks=pytest.mark.size_bits(513)),
    pytest.param("1024", marks=pytest.mark.size_bits(1024)),
    pytest.param("1040 squared", marks=pytest.mark.size_bits(1040)),
    pytest.param("2048", marks=[pytest.mark.size_bits(2048), pytest.mark.long]),
]


@pytest.fixture(scope="module", params=MODULI)
def modulus(request, numbers):
    bits, *squared = request.param.split()
    n = numbers.modulus(int(bits), "ones" if bits == "1040" else "random").value
    return Modulus(n * n, root=n) if squared else Modulus(n)


def expected(numbers, bases, exponents, negative, n):
    """The products of powers, in Python's integers."""
    result = numbers.objects([1] * exponents.shape[1], (-1,))
    for base, row, signs in zip(bases, exponents, negative, strict=True):
        result = result * numbers.power(base, np.where(signs, -row, row), n) % n
    return result


def check(engine, numbers, modulus, bases, exponents, negative=None, limb_count=None):
    limb_count = limb_count or numbers.limbs_for_bits(max([1, *(int(e).bit_length() for e in exponents.ravel())]))
    a = numbers.load(engine, bases, modulus)
    found = engine.mod_multi_exp(a, numbers.limbs(exponents, limb_count), negative)
    signs = np.zeros(exponents.shape, np.bool_) if negative is None else negative
    numbers.same(numbers.store(found), expected(numbers, bases, exponents, signs, modulus.value))


def units(numbers, modulus, count, seed=0):
    """Residues with an inverse: structured ones, and random."""
    found = [x for x in numbers.residues(modulus, (4 * count + 40,), seed).ravel() if gcd(x, modulus.value) == 1]
    return numbers.objects(found[:count], (count,))


def draw_exponents(numbers, bits, k, m, seed):
    """Exponents of up to `bits` bits: ends, a single bit, all ones, random, in turn."""
    top = 1 << bits - 1
    kinds = [2 * top - 1, 0, top, 1, numbers.random_int(bits, seed), top - 1, numbers.random_int(bits, seed + 1) | top]
    return numbers.objects([kinds[(i + seed) % 7] for i in range(k * m)], (k, m))


def draw_signs(kind, shape):
    if kind == "none":
        return None
    if kind == "mixed":
        return np.random.default_rng(shape).integers(0, 2, shape).astype(np.bool_)
    return np.full(shape, kind == "all negative")


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bits", EXPONENT_BITS)
def test_exponents_of_every_width(engine, numbers, modulus, bits, shape):
    if bits == 1024:
        shape = (min(shape[0], 5), min(shape[1], 2))
    signs = draw_signs(SIGNS[(bits + sum(shape)) % 4], shape)
    exponents = draw_exponents(numbers, bits, *shape, seed=bits % 7)
    check(engine, numbers, modulus, units(numbers, modulus, shape[0]), exponents, signs)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("sign", ["none", "mixed", "all negative"])
@pytest.mark.parametrize("bits", [1, 2, 23, 64, 65, 1024])
def test_sparse_exponents_of_every_width(engine, numbers, modulus, bits, sign):
    """Results of no, one and many terms, which name some bases several times and some never."""
    base_count, lengths = 9, [0, 1, 4, 0, 12, 2, 0] if bits < 1024 else [0, 3, 2, 0]
    rng = np.random.default_rng([bits, SIGNS.index(sign)])
    bases = units(numbers, modulus, base_count, seed=bits)
    columns = rng.integers(0, base_count - 2, sum(lengths))
    columns[2] = columns[1]  # both in the first result of several terms
    exponents = draw_exponents(numbers, bits, len(columns), 1, seed=bits % 7).ravel()
    negative = draw_signs(sign, (len(columns),))
    offsets = np.cumsum([0, *lengths])
    limbs = numbers.limbs(exponents, numbers.limbs_for_bits(bits))
    found = engine.mod_multi_exp(
        numbers.load(engine, bases, modulus), SparseExponents(limbs, columns, offsets, negative)
    )
    signed = exponents if negative is None else np.where(negative, -exponents, exponents)
    n, ends = modulus.value, pairwise(offsets)
    powers = [pow(int(bases[column]), int(power), n) for column, power in zip(columns, signed, strict=True)]
    numbers.same(numbers.store(found), numbers.objects([prod(powers[i:j]) % n for i, j in ends], (len(lengths),)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "signs"),
    [*product([(3, 0), (9, 3), (33, 9), (150, 1)], ["none", "mixed"]), ((33, 9), "all negative")],
)
@pytest.mark.parametrize("bits", EXPONENT_BITS)
def test_exponents_of_every_width_in_every_proportion(engine, numbers, modulus, bits, shape, signs):
    if bits == 1024:
        shape = (min(shape[0], 30), min(shape[1], 4))
    bases = units(numbers, modulus, shape[0], seed=bits)
    check(engine, numbers, modulus, bases, draw_exponents(numbers, bits, *shape, seed=3), draw_signs(signs, shape))


@pytest.mark.parametrize("sign", ["none", "mixed"])
def test_columns_and_rows_of_zeros_and_ones(engine, numbers, modulus, sign):
    exponents = draw_exponents(numbers, 32, 12, 6, seed=1)
    exponents[:, 1] = 0
    exponents[:, 2] = 1
    exponents[3] = 0
    exponents[4] = 1
    exponents[:, 4] = 0
    exponents[7, 4] = 1
    check(engine, numbers, modulus, units(numbers, modulus, 12), exponents, draw_signs(sign, (12, 6)))
    for value in (0, 1):
        exponents[:] = value
        check(engine, numbers, modulus, units(numbers, modulus, 12), exponents, draw_signs(sign, (12, 6)))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("k", [2, 9, 130])
def test_equal_bases_and_opposite_exponents(engine, numbers, modulus, k):
    base = units(numbers, modulus, 3)[2]
    bases = numbers.objects([base] * k, (k,))
    exponents = draw_exponents(numbers, 40, k, 2, seed=k)
    check(engine, numbers, modulus, bases, exponents)
    check(engine, numbers, modulus, bases, exponents, draw_signs("mixed", (k, 2)))
    # A factor and its inverse, twice over: one.
    exponents[:] = numbers.random_int(40, 5)
    signs = np.arange(2 * k).reshape(k, 2) // 2 % 2 == 1
    check(engine, numbers, modulus, bases[: k // 2 * 2], exponents[: k // 2 * 2], signs[: k // 2 * 2])


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("bits", [1, 23, 65, 127])
def test_bases_zero_one_and_minus_one(engine, numbers, modulus, bits):
    n = modulus.value
    bases = numbers.objects([0, 1, n - 1, 2, 0, 1, n - 1, n - 2, 1], (9,))
    exponents = draw_exponents(numbers, bits, 9, 5, seed=2)
    exponents[[0, 4], 0] = 0  # here the zeros drop out, and the result is none
    exponents[:, 1] = 0
    check(engine, numbers, modulus, bases, exponents)
    signs = draw_signs("mixed", (9, 5))
    signs[[0, 4]] = False
    check(engine, numbers, modulus, bases, exponents, signs)
    for one in (0, 1, n - 1):
        check(engine, numbers, modulus, numbers.objects([one], (1,)), exponents[:1])


@pytest.mark.parametrize("limb_count", [1, 3, 16])
def test_leading_zero_limbs_of_exponents(engine, numbers, modulus, limb_count):
    exponents = draw_exponents(numbers, 23, 8, 2, seed=0)
    bases = units(numbers, modulus, 8)
    check(engine, numbers, modulus, bases, exponents, draw_signs("mixed", (8, 2)), limb_count)


def zero_divisors(modulus, numbers):
    """A modulus of the same size with known factors, and residues that share one."""
    bits = modulus.bits // 2 if modulus.root else modulus.bits
    n = numbers.modulus(bits - 5, "random").value * 21
    composite = Modulus(n * n, root=n) if modulus.root else Modulus(n)
    return composite, [0, 3, 7, composite.value // 3, composite.value - 21]


def test_bases_without_inverse_and_no_minus_sign_on_them(engine, numbers, modulus):
    composite, singular = zero_divisors(modulus, numbers)
    bases = numbers.objects([*singular, 2, composite.value - 1, 4], (8,))
    exponents = draw_exponents(numbers, 65, 8, 3, seed=4)
    check(engine, numbers, composite, bases, exponents)
    check(engine, numbers, composite, bases, exponents, np.zeros((8, 3), np.bool_))
    signs = np.zeros((8, 3), np.bool_)
    signs[5:, 1:] = True
    check(engine, numbers, composite, bases, exponents, signs)


# The sign alone decides, whatever the exponent; the first such row is named.
@pytest.mark.parametrize("exponent", [0, 1, 2**65])
@pytest.mark.parametrize("rows", [[0], [4], [1, 3]])
def test_a_minus_sign_on_a_base_without_inverse(engine, numbers, modulus, rows, exponent):
    composite, singular = zero_divisors(modulus, numbers)
    bases = numbers.load(engine, numbers.objects([*singular, 2], (6,)), composite)
    exponents = numbers.objects([exponent] * 12, (6, 2))
    signs = np.zeros((6, 2), np.bool_)
    signs[[*rows, 5], 1] = True
    with pytest.raises(InputError, match=f"index {rows[0]} has no inverse"):
        engine.mod_multi_exp(bases, numbers.limbs(exponents, 2), signs)
