"""Conformance: values solved for, so that taking them into Montgomery form ends at, below and above multiples of n.

A value x = x_0 + x_1 R + ..., its digits x_i below R, comes in as the sum of x_i R^(i+2) / R. Summed before they are
reduced, d digits have a quotient below (d + 1) n; kept lazily, it is any number below 2n: here 2n - 1, n and 0 are met,
and products of these, which are as large as products get.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.conformance.sizes import also_long
from tests.conformance.structured.inverse import inverse_of

# Two or four bits below whole limbs of 52 bits: there R is least for lazy ranges; and sizes of keys.
BITS = [516, 518, 520, 521, 568, 570, 1024, 1036, 1038, 1040, 2048, 2076, 2078, 2080]
SHAPES = ["ones", "below", "above", "random"]


def entry_factors(modulus, radix, count):
    """R^2, R^3, ... mod the modulus; of squares of n, as all here are in pairs, what it leaves mod n."""
    n = modulus.root or modulus.value
    return [pow(radix, power, modulus.value) % n for power in range(2, 2 + count)]


def lowest_digit(quotient, highs, factors, n, radix):
    """The x_0 below R that makes `quotient` with the digits `highs` above it; None where there is none."""
    above = sum(high * factor for high, factor in zip(highs, factors[1:], strict=False))
    rest = quotient * radix - above  # = x_0 R^2 + m n for an m in [0, R)
    least = max(0, -((radix * factors[0] - rest) // n) + (1 if (radix * factors[0] - rest) % n == 0 else 0))
    m = least + (rest * inverse_of(n, factors[0]) - least) % factors[0]
    x0, remainder = divmod(rest - m * n, factors[0])
    assert remainder == 0
    return x0 if m < radix and 0 <= x0 < radix else None


@cache
def entries(operands, modulus):
    """Lists of values, one for each radix, of at most twice the modulus' limbs; and the multiples met, for each."""
    n = modulus.root or modulus.value
    lists, met = [], []
    for radix in operands.radices(n):
        width = 128 * modulus.limb_count
        digit_count = max(1, -(-width // (radix.bit_length() - 1)))
        factors = entry_factors(modulus, radix, digit_count)
        full = [radix - 1] * (digit_count - 1)
        if full:
            full[-1] = (1 << width - (radix.bit_length() - 1) * (digit_count - 1)) - 1
        values, targets = [], set()
        for highs in ([], full[:1], full):
            for multiple in range(1, digit_count + 2):
                for excess in (-2, -1, 0, 1):
                    x0 = lowest_digit(multiple * n + excess, highs, factors, n, radix)
                    if x0 is not None:
                        value = sum(digit * radix**i for i, digit in enumerate([x0, *highs]))
                        values += [value] if value < 1 << width else []
                        targets.add((multiple, excess))
        lists.append([*values, n, n * 2, 0, 1])
        met.append(targets)
    return lists, met


@pytest.mark.parametrize("is_square", [False, True])
def test_the_entries_end_at_multiples_of_n(operands, is_square):
    """At n itself for every modulus and radix; how far beyond hangs on R^2 mod n, R^3 mod n, ..."""
    make = operands.square if is_square else operands.modulus
    met = [targets for bits in BITS for shape in SHAPES for targets in entries(operands, make(bits, shape))[1]]
    assert all({(1, -1), (1, 0)} <= targets for targets in met)
    beyond = {(multiple, excess) for multiple in ((1, 2, 3) if is_square else (1, 2)) for excess in (-2, -1, 0, 1)}
    assert beyond <= set().union(*met)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("is_square", [False, True])
@pytest.mark.parametrize(
    ("bits", "shape"),
    also_long(
        [(bits, shape) for bits in BITS for shape in ("ones", "random")],
        [(bits, shape) for bits in (2076, 2078, 2080) for shape in ("ones", "random")],
    ),
)
def test_values_taken_in(engine, numbers, operands, bits, shape, is_square):
    modulus = operands.square(bits, shape) if is_square else operands.modulus(bits, shape)
    n = modulus.value
    for values in entries(operands, modulus)[0]:
        wide = numbers.objects(values, (-1,))
        residues = wide % n
        a = engine.reduce(numbers.limbs(wide, 2 * modulus.limb_count), modulus)
        numbers.same(numbers.store(a), residues)
        numbers.same(numbers.store(numbers.load(engine, residues, modulus)), residues)
        square = np.multiply.outer(residues, residues) % n
        products = engine.mod_mul(engine.reshape(a, (len(values), 1)), a)
        numbers.same(numbers.store(products), square)
        numbers.same(numbers.store(engine.mod_mul(products, a)), square * residues % n)
        numbers.same(numbers.store(engine.mod_exp_vartime(a, numbers.limbs(2, 1))), residues * residues % n)
        numbers.same(numbers.store(engine.mod_exp(a, numbers.limbs(3, 1))), numbers.power(residues, 3, n))
