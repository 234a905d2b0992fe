"""Conformance: operands solved for, so that the corrections of a Montgomery product meet what chance does not.

For forms x, y below n and the radix R a product takes the m in [0, R) for which R divides x y + m n, and has the
quotient u = (x y + m n) / R, below 2n, to correct where u >= n. With n far below R that is met once in R / n products.
Modulo n^2 a number is a pair (x0, x1) for x0 + x1 n. The product of two has the lower half u of x0 y0, and the upper
half v = (x0 y1 + x1 y0 - m) / R mod n, to which 1 is added where n is taken off u: v may be n - 1 before that, and what
it is computed of may be negative.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import gcd, isqrt

import numpy as np
import pytest
from tests.conformance.sizes import also_long
from tests.conformance.structured.inverse import inverse_of

from hekat.errors import InputError

# Around whole limbs of 52 bits, and two or four bits below them, where R is least for lazy ranges; sizes of keys.
BITS = [512, 516, 518, 519, 520, 521, 568, 570, 572, 573, 1000, 1024, 1036, 1038, 1040, 1041, 1536, 2047, 2048, 2076]
BITS += [2078, 2079, 2080, 2081, 3072]
SHAPES = ["ones", "below", "above", "random"]
LONG_BITS = sorted({*BITS, 571, 1023, 1025, 1039, 2049, 3071, 4096})


def quotient(x, y, n, radix):
    """(u, m) of the product of x and y."""
    m = -x * y * inverse_of(n, radix) % radix
    return (x * y + m * n) // radix, m


def partner_for_quotient(x, u, n, radix):
    """The y in [0, n) whose product with x, coprime to n, has the quotient u; None where there is none."""
    # x y = u R - m n fixes m modulo x, and 0 <= y < n keeps it within an interval of length x.
    most = u * radix // n
    m = most - (most - u * radix * inverse_of(n, x)) % x
    y = (u * radix - m * n) // x
    return y if 0 <= m < radix and 0 <= y < n else None


def partner_for_m(x, m, n, radix):
    """The y in [0, n) whose product with x, odd, takes m; None where there is none."""
    least = -(-m * n // radix)
    u = least + (m * n * inverse_of(radix, x) - least) % x
    y = (u * radix - m * n) // x
    return y if y < n else None


def near(x, n):
    """The largest number up to x that is coprime to n."""
    return x if gcd(x, n) == 1 else near(x - 1, n)


def quotient_targets(n, radix, x):
    """Quotients at their ends, for products with x below n or a lazy x below 2n."""
    highest = x * n // radix  # u - n stays below it
    excess = {1, 2, 1 << 52, isqrt(radix), highest // 2, highest * 7 // 8, highest - 1, highest - 2}
    return [1, 2, n - 2, n - 1, *(n + more for more in sorted(excess) if 0 < more < highest)]


def lower_halves(n, radix, is_long=False):
    """Pairs (x, y) of numbers below n that put the quotient and m at their ends."""
    pairs = [(0, 0), (0, n - 1), (n - 1, n - 1), (1, n - 1), (1, 1)]
    factors = [n - 1, (n >> 1) + 3, n - (1 << 52)] + ([n - (1 << 64), n - 7, n // 3, n - n // 17] if is_long else [])
    for x in (near(factor, n) for factor in factors):
        pairs += [(x, partner_for_quotient(x, u, n, radix)) for u in quotient_targets(n, radix, x)]
    full, limb = radix - 1, (1 << 52) - 1
    for m in (1, full, full - 1, full >> 52, radix >> 1, full ^ limb, full ^ (limb << 52)):
        # Each x has a partner with the odds n / R.
        for x in range(n - 2, n - 600, -2) if radix < 64 * n else ():
            y = partner_for_m(x, m, n, radix)
            if y is not None:
                pairs.append((x, y))
                break
    root = isqrt(radix)
    if 2 * root < n:
        pairs += [(root, root), (n - root, n - root), (n - root, root)]
    for factor in (3, 5, 7):
        if n % factor == 0:
            # No zero, but a multiple of n: u = n exactly.
            pairs += [(factor, n // factor), (n - factor, n // factor * (factor - 1))]
    return [(x, y) for x, y in pairs if y is not None]


def squared_halves(n, radix):
    """Numbers below n whose square puts the quotient at its ends."""
    root = isqrt(radix)
    most = (n - 1) // (2 * root)
    # e sqrt(R) has the quotient e^2 and m = 0; n - e sqrt(R) has n + e^2 and m = R - n + 2 e sqrt(R).
    factors = [e for e in sorted({1, 2, most // 2, most}) if 0 < 2 * e * root < n]
    return [0, 1, n - 1, n - 2, n >> 1, *(x for e in factors for x in (e * root, n - e * root))]


def upper_halves(x0, y0, n, radix, is_long=False):
    """Pairs (x1, y1) for lower halves x0, y0: ends, and those that make v = n - 1, 0, 1 before a carry from u."""
    pairs = [(0, 0), (0, n - 1), (n - 1, 0), (n - 1, n - 1)]
    if gcd(x0, n) == 1:
        m, inverse = quotient(x0, y0, n, radix)[1], inverse_of(x0, n)
        for v in (n - 1, 0, 1):
            pairs += [
                (x1, (v * radix + m - x1 * y0) * inverse % n) for x1 in ((0, n - 1, n >> 1) if is_long else (n - 1,))
            ]
    return pairs


@cache
def pair_products(operands, bits, shape, is_long=False):
    """Pairs of numbers mod n^2 whose forms are the pairs above, under each radix."""
    n = operands.root(bits, shape)
    found = []
    for radix in operands.radices(n):
        inverse = inverse_of(radix, n * n)
        for x0, y0 in lower_halves(n, radix, is_long):
            for x1, y1 in upper_halves(x0, y0, n, radix, is_long):
                found.append(((x0 + x1 * n) * inverse % (n * n), (y0 + y1 * n) * inverse % (n * n)))
    return found


@cache
def pair_squares(operands, bits, shape):
    """Numbers mod n^2 whose forms are pairs with the squares above."""
    n = operands.root(bits, shape)
    found = []
    for radix in operands.radices(n):
        inverse = inverse_of(radix, n * n)
        for x0 in squared_halves(n, radix):
            upper = [0, 1, n - 1, n >> 1, (n >> 1) + 1]
            if gcd(x0, n) == 1:
                m = quotient(x0, x0, n, radix)[1]
                upper += [(v * radix + m) * inverse_of(2 * x0, n) % n for v in (n - 1, 0, 1)]
            found += [(x0 + x1 * n) * inverse % (n * n) for x1 in upper]
    return found


@cache
def single_products(operands, bits, shape, is_long=False):
    """Pairs of numbers mod n whose forms are the lower halves above; and numbers whose entry is such a product."""
    n = operands.root(bits, shape)
    found = []
    for radix in operands.radices(n):
        inverse = inverse_of(radix, n)
        found += [(x * inverse % n, y * inverse % n) for x, y in lower_halves(n, radix, is_long)]
        # Into Montgomery form by a product with R^2 or R^3 mod n, which is taken as it is.
        for power in (2, 3):
            factor = pow(radix, power, n)
            if factor > 1:
                entries = [partner_for_quotient(factor, u, n, radix) for u in quotient_targets(n, radix, factor)]
                found += [(y, n - 1) for y in entries if y is not None]
    return found


@cache
def triple_products(operands, bits, shape):
    """Triples of numbers mod n: a product left at or above n meets a third factor that puts the next one there."""
    n = operands.root(bits, shape)
    found = []
    for radix in operands.radices(n):
        inverse = inverse_of(radix, n)
        x = near(n - 1, n)
        for u in quotient_targets(n, radix, x)[2:]:
            y = partner_for_quotient(x, u, n, radix)
            if y is None or gcd(u, n) != 1:
                continue
            thirds = [partner_for_quotient(u, w, n, radix) for w in quotient_targets(n, radix, u)[2:]]
            found += [(x * inverse % n, y * inverse % n, z * inverse % n) for z in thirds if z is not None]
    return found


def check_products(engine, numbers, modulus, pairs):
    n = modulus.value
    left, right = (numbers.objects([pair[i] for pair in pairs], (-1,)) for i in (0, 1))
    a, b = (numbers.load(engine, values, modulus) for values in (left, right))
    products = left * right % n
    found = engine.mod_mul(a, b)
    numbers.same(numbers.store(found), products)
    numbers.same(numbers.store(engine.mod_mul(b, a)), products)
    # A product used further as the engine left it.
    numbers.same(numbers.store(engine.mod_mul(found, found)), products * products % n)
    numbers.same(numbers.store(engine.mod_exp_vartime(found, numbers.limbs(2, 1))), products * products % n)
    numbers.same(numbers.store(engine.mod_mul(found, b)), products * right % n)
    both = engine.reshape(engine.concatenate([a, b]), (2, len(pairs)))
    numbers.same(numbers.store(engine.mod_product(both)), products)
    few = engine.take(both, np.array([[i, len(pairs) + i] for i in range(0, len(pairs), 7)], np.int64))
    flat, segments = engine.reshape(few, (few.size,)), np.repeat(np.arange(few.shape[0]), 2)
    numbers.same(numbers.store(engine.mod_segment_product(flat, segments, few.shape[0])), products[::7])
    ones = numbers.limbs(numbers.objects([1] * 2, (2, 1)), 1)
    for i in range(0, len(pairs), max(1, len(pairs) // 8)):
        pair = engine.take(both, np.array([i, len(pairs) + i], np.int64))
        numbers.same(numbers.store(engine.mod_multi_exp(pair, ones)), products[i : i + 1])


def check_squares(engine, numbers, modulus, values, is_long=False):
    n = modulus.value
    array = numbers.objects(values, (-1,))
    a = numbers.load(engine, array, modulus)
    numbers.same(numbers.store(engine.mod_mul(a, a)), array * array % n)
    for exponent in (2, 3, 4, 17):
        found = engine.mod_exp_vartime(a, numbers.limbs(exponent, 1))
        numbers.same(numbers.store(found), numbers.power(array, exponent, n))
    # Powers in constant time take all 64 bits of a limb: a third of the values has every upper half now and then.
    some = np.arange(0, len(values), 1 if is_long else 3)
    bases, exponents = engine.take(a, some), numbers.objects([2 + i % 2 for i in range(len(some))], (-1,))
    found = engine.mod_exp(bases, numbers.limbs(exponents, 1))
    numbers.same(numbers.store(found), numbers.power(array[some], exponents, n))
    squared = numbers.power(array, 2, n)
    for i in range(0, len(values), max(1, len(values) // 8)):
        table = engine.fixed_base_table(numbers.limbs(array[i], modulus.limb_count), modulus, 8, 2 + i % 2)
        numbers.same(numbers.store(engine.mod_exp_fixed(table, numbers.limbs(2, 1))), np.asarray(squared[i], object))
        one = engine.take(a, np.array([i], np.int64))
        found = engine.mod_multi_exp(one, numbers.limbs(numbers.objects([2], (1, 1)), 1))
        numbers.same(numbers.store(found), squared[i : i + 1])


def reached(n, radix):
    """How often each case is met by the operands for n and the radix."""
    met = Counter()
    for x0, y0 in lower_halves(n, radix):
        u, m = quotient(x0, y0, n, radix)
        assert u * radix == x0 * y0 + m * n
        met.update({f"u - n = {u - n}" if abs(u - n) < 3 else "u > n" if u > n else "u < n"})
        met.update({"m = R - 1"} if m == radix - 1 else {"m = 0"} if m == 0 and x0 else set())
        for x1, y1 in upper_halves(x0, y0, n, radix):
            total = x0 * y1 + x1 * y0 - m
            v = total * inverse_of(radix, n) % n
            met.update({"upper half negative"} if total < 0 else {})
            met.update({"carry into n - 1"} if u >= n and v == n - 1 else {})
    for x in squared_halves(n, radix):
        u = quotient(x, x, n, radix)[0]
        met.update({"square with u > n"} if u > n else {})
    return met


@pytest.mark.quick_values
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bits", also_long([512, 516, 518, 520, 521, 570, 1036, 1040, 2048, 2076, 2080], [2076]))
def test_the_operands_reach_the_cases(operands, bits, shape):
    n = operands.root(bits, shape)
    for radix in operands.radices(n):
        met = reached(n, radix)
        wanted = {"u - n = -1", "u - n = -2", "upper half negative"}
        if radix < n * n >> 4:
            wanted |= {"u - n = 1", "u - n = 2", "u > n", "m = 0", "square with u > n", "carry into n - 1"}
        if gcd(n, 105) > 1:
            wanted.add("u - n = 0")
        if radix < 64 * n:
            wanted.add("m = R - 1")
        assert wanted - set(met) == set(), (bits, shape, radix.bit_length() - 1)


def shapes_of(bits):
    """Two of the shapes: the one all ones, where n may be the radix less one, and another that turns."""
    return ["ones", SHAPES[1 + LONG_BITS.index(bits) % 3]]


QUICK = also_long(
    [(bits, shape) for bits in BITS for shape in shapes_of(bits)],
    [(bits, shape) for bits in BITS if bits > 1040 and bits not in (2048, 2080) for shape in shapes_of(bits)],
)
# Of pairs one shape of a size, the two of shapes_of in turns; test_every_pair has both, with more operands.
PAIRS = [(bits, shapes_of(bits)[place % 2]) for place, bits in enumerate(b for b in BITS if b <= 1040 or b == 2048)]
# Every shape of a size whose pairs take a second, of which the two of shapes_of are emulated too; of the larger ones
# those two, or one.
BOTH = (2047, 2048, 2076, 2080, 3072)
LONG = [
    pytest.param(bits, shape, marks=() if shape in shapes_of(bits) else pytest.mark.not_emulated)
    for place, bits in enumerate(LONG_BITS)
    for shape in (SHAPES if bits <= 1041 else shapes_of(bits) if bits in BOTH else [shapes_of(bits)[place % 2]])
]


@pytest.mark.parametrize(("bits", "shape"), PAIRS)
def test_pairs(engine, numbers, operands, bits, shape):
    check_products(engine, numbers, operands.square(bits, shape), pair_products(operands, bits, shape))


@pytest.mark.parametrize(("bits", "shape"), PAIRS)
def test_squares_of_pairs(engine, numbers, operands, bits, shape):
    check_squares(engine, numbers, operands.square(bits, shape), pair_squares(operands, bits, shape))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize(("bits", "shape"), QUICK)
def test_single_numbers(engine, numbers, operands, bits, shape):
    modulus = operands.modulus(bits, shape)
    check_products(engine, numbers, modulus, single_products(operands, bits, shape))
    squares = [
        x * inverse_of(r, modulus.value) % modulus.value
        for r in operands.radices(modulus.value)
        for x in squared_halves(modulus.value, r)
    ]
    check_squares(engine, numbers, modulus, squares)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize(("bits", "shape"), QUICK)
def test_third_factors(engine, numbers, operands, bits, shape):
    """Alone, and as lower halves."""
    for modulus in (operands.modulus(bits, shape), operands.square(bits, shape)):
        triples = numbers.objects(
            [value for triple in triple_products(operands, bits, shape) for value in triple], (-1, 3)
        )
        if modulus.root is not None:
            triples = triples % modulus.root
        expected = triples[:, 0] * triples[:, 1] % modulus.value * triples[:, 2] % modulus.value
        a = numbers.load(engine, triples, modulus)
        numbers.same(numbers.store(engine.mod_product(a, 1)), expected)
        columns = [engine.take(a, np.arange(i, a.size, 3)) for i in range(3)]
        product = engine.mod_mul(engine.mod_mul(columns[0], columns[1]), columns[2])
        numbers.same(numbers.store(product), expected)


@pytest.mark.long
@pytest.mark.parametrize(("bits", "shape"), LONG)
def test_every_pair(engine, numbers, operands, bits, shape):
    check_products(engine, numbers, operands.square(bits, shape), pair_products(operands, bits, shape, True))
    check_squares(engine, numbers, operands.square(bits, shape), pair_squares(operands, bits, shape), True)
    check_products(engine, numbers, operands.modulus(bits, shape), single_products(operands, bits, shape, True))


@pytest.mark.parametrize("bits", [513, 1040, 2048])
def test_a_product_that_is_zero_stays_zero(engine, numbers, operands, bits):
    """A quotient of exactly n is zero: stored as 0, without an inverse, 1 to the power 0."""
    for modulus in (operands.modulus(bits, "below"), operands.square(bits, "below")):
        n = modulus.value
        zero_divisors = numbers.objects([7, n // 7, n - 7, n - n // 7], (4,))
        a = numbers.load(engine, zero_divisors, modulus)
        zeros = engine.mod_mul(a, engine.take(a, np.array([1, 0, 3, 2], np.int64)))
        numbers.same(numbers.store(zeros), numbers.objects([0] * 4, (4,)))
        numbers.same(numbers.store(engine.mod_exp(zeros, numbers.limbs(0, 1))), numbers.objects([1] * 4, (4,)))
        numbers.same(numbers.store(engine.mod_exp(zeros, numbers.limbs(5, 1))), numbers.objects([0] * 4, (4,)))
        numbers.same(numbers.store(engine.mod_mul(zeros, zeros)), numbers.objects([0] * 4, (4,)))
        with pytest.raises(InputError, match="index 0 has no inverse"):
            engine.mod_inv(zeros)
