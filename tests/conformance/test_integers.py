"""Conformance: int_add, int_sub, int_mul, and int_divmod with Knuth's rare branches (TAOCP 4.3.1, algorithm D)."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.size_bits(64)  # there is no modulus

# Straddling 6 and 8 limbs, where a product's algorithm may change, and multiples of 8.
WIDTHS = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 5), (5, 6), (6, 6), (7, 7), (7, 8), (8, 8), (8, 9), (9, 4), (15, 16)]
WIDTHS += [(16, 17), (24, 23), (32, 32), (64, 33)]
SHAPES = [
    ((), ()),
    ((0,), (0,)),
    ((0,), ()),
    ((1,), (7,)),
    ((8,), (8,)),
    ((9,), ()),
    ((3, 4), (4,)),
    ((3, 1), (1, 5)),
    ((1500,), (1500,)),
]
B = 2**64


def patterns(limb_count):
    """Integers of `limb_count` limbs whose sums, differences and products carry all the way."""
    width = 64 * limb_count
    ones = 2**width - 1
    values = [0, 1, 2, ones, ones - 1, ones >> 1, 1 << width - 1, ones ^ 2**64 - 1, B - 1, ones ^ (1 << width // 2)]
    values += [sum(1 << b for b in range(0, width, step)) for step in (2, 63, 64, 128)]
    values += [1 << b for b in (63, 64, 127, 128, 64 * (limb_count - 1)) if b < width]
    return sorted(set(values))


def pair(numbers, widths):
    a = numbers.objects(patterns(widths[0]), (-1, 1))
    b = numbers.objects(patterns(widths[1]), (1, -1))
    return a, b, numbers.limbs(a, widths[0]), numbers.limbs(b, widths[1])


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_int_add(engine, numbers, widths):
    a, b, a_limbs, b_limbs = pair(numbers, widths)
    found = engine.int_add(a_limbs, b_limbs)
    assert found.shape[-1] == max(widths) + 1
    numbers.same(numbers.ints(found), a + b)


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_int_sub(engine, numbers, widths):
    a, b, a_limbs, b_limbs = pair(numbers, widths)
    found, below = engine.int_sub(a_limbs, b_limbs)
    assert found.shape[-1] == max(widths)
    assert below.dtype == np.bool_
    numbers.same(numbers.ints(found), abs(a - b))
    np.testing.assert_array_equal(below, (a < b).astype(np.bool_))


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_int_mul(engine, numbers, widths):
    a, b, a_limbs, b_limbs = pair(numbers, widths)
    found = engine.int_mul(a_limbs, b_limbs)
    assert found.shape[-1] == sum(widths)
    numbers.same(numbers.ints(found), a * b)


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_int_divmod(engine, numbers, widths):
    a = numbers.objects(patterns(widths[0]), (-1, 1))
    b = numbers.objects([value for value in patterns(widths[1]) if value], (1, -1))
    quotient, remainder = engine.int_divmod(numbers.limbs(a, widths[0]), numbers.limbs(b, widths[1]))
    assert (quotient.shape[-1], remainder.shape[-1]) == widths
    numbers.same(numbers.ints(quotient), a // b)
    numbers.same(numbers.ints(remainder), a % b)


def count_add_backs(u, v):
    """How often Knuth's step D6 (add back) happens when u is divided by v, by the book."""
    n = -(-v.bit_length() // 64)
    if n < 2:
        return 0
    shift = 64 * n - v.bit_length()
    u, v = u << shift, v << shift
    top, second = v >> 64 * (n - 1), v >> 64 * (n - 2) & B - 1
    count = 0
    for j in reversed(range(max(0, -(-u.bit_length() // 64) - n) + 1)):
        window = u >> 64 * (j + n - 2)
        head, low = window >> 64, window & B - 1
        q, r = divmod(head, top)
        while q >= B or q * second > r * B + low:
            q, r = q - 1, r + top
            if r >= B:
                break
        u -= q * v << 64 * j
        if u < 0:
            u += v << 64 * j
            count += 1
    return count


# Dividend limbs (high to low), divisor limbs, and how many quotient digits are still one too large after step D3.
ADD_BACK = [
    ([B // 2, B // 4, 1, B - 1, B // 4], [B // 2, B // 4, B // 2 - 1, B // 4], 1),
    ([B - 2, B - 1, 0], [B - 2, B - 1, B // 4], 1),
    ([0, B - 2, B - 1, 0], [B - 2, B - 1, B // 4], 1),
    ([3, 1, 1, 3], [3, B // 2, 3], 1),
    ([3, 3, 0, 0, B // 2 - 1], [B // 2, B // 2, B // 2 - 1], 1),
    ([B - 2, 3, B - 1, 1, 3], [B - 1, 3, B - 1], 1),
    ([B - 1, 3, 3, B - 2, B // 2 - 1, B - 2], [B // 2, 1, B - 1], 1),
    ([2, B - 1, B // 2, B // 2 - 1, B // 4], [1, B // 2, B // 2, B // 2], 1),
    ([B - 2, B - 1, 1, B - 2, B // 2 - 1, 1], [B - 2, B - 1, 2, B // 2 - 1], 1),
    ([B // 2, 1, B // 2 - 1, B // 2 - 1, B - 2, B // 2 - 1], [B // 2, 1, B // 2], 2),
    ([0, B // 2, B // 2, 1, B // 2, 2], [2, 2, 2], 2),
    ([B - 2, 0, 0, B - 2, 2, 3], [B // 2 - 1, 0, B // 2 - 1, B // 2], 2),
    ([B - 2, B - 2, 0, 0, B - 1, B // 2 - 1, B // 4], [B - 2, B - 2, B - 1, B // 2], 2),
]
# Divisors whose top limb makes the first estimate off by one or two, or equal to the base.
ESTIMATES = [
    ([B // 2, 0, 0], [B // 2, B - 1]),
    ([B // 2, B - 1, B - 1], [B // 2, B - 1]),
    ([B - 1, B - 1, B - 1, B - 1], [B - 1, B - 1]),
    ([B - 2, B - 1, B - 1, B - 1], [B - 1, B - 1]),
    ([B - 1, B - 2, B - 1, 0], [B - 1, B - 1, 1]),
    ([B // 2, 0, 0, 0], [B // 2, 0]),
    ([B // 2 - 1, B - 1, B - 1, B - 1], [B // 2, 0]),
    ([B // 2 - 1, B - 1, B - 1, B - 1], [B // 2, B - 1]),
    ([B - 1, B - 1, 0], [B - 1, B - 1]),
    ([1, 0, 0, 0], [1, 1]),
    ([B - 1, B - 1, B - 1], [1, 0]),
    ([B - 1] * 6, [1]),
    ([B - 1] * 6, [B - 1]),
    ([B - 1] * 6, [B // 2]),
    ([B - 2, *[B - 1] * 5], [B - 1]),
]


def from_high_limbs(limbs):
    value = 0
    for limb in limbs:
        value = value << 64 | limb
    return value


def check_division(engine, numbers, dividends, divisors):
    a, b = numbers.objects(dividends, (-1,)), numbers.objects(divisors, (-1,))
    a_width = max(numbers.limbs_for_bits(value.bit_length()) for value in dividends)
    b_width = max(numbers.limbs_for_bits(value.bit_length()) for value in divisors)
    for extra in (0, 1, 3):
        quotient, remainder = engine.int_divmod(numbers.limbs(a, a_width + extra), numbers.limbs(b, b_width + extra))
        numbers.same(numbers.ints(quotient), a // b)
        numbers.same(numbers.ints(remainder), a % b)


@pytest.mark.parametrize(("dividend", "divisor", "add_backs"), ADD_BACK)
def test_division_that_must_add_back(engine, numbers, dividend, divisor, add_backs):
    u, v = from_high_limbs(dividend), from_high_limbs(divisor)
    assert count_add_backs(u, v) == add_backs
    check_division(engine, numbers, [u], [v])


@pytest.mark.parametrize(("dividend", "divisor"), ESTIMATES)
def test_division_with_corrected_estimates(engine, numbers, dividend, divisor):
    u, v = from_high_limbs(dividend), from_high_limbs(divisor)
    for value in (u, u + 1, u - 1, u >> 1):
        check_division(engine, numbers, [value], [v])


@pytest.mark.parametrize("seed", range(4))
def test_division_around_exact_multiples_of_sparse_divisors(engine, numbers, seed):
    rng = np.random.default_rng(seed)
    digits = [0, 1, 2, B // 2 - 1, B // 2, B // 2 + 1, B - 2, B - 1]
    dividends, divisors = [], []
    for _ in range(400):
        v = from_high_limbs([digits[i] for i in rng.integers(1, 8, 1)] + [digits[i] for i in rng.integers(0, 8, 2)])
        q = from_high_limbs([digits[i] for i in rng.integers(0, 8, 3)])
        dividends.append(max(0, q * v + (int(rng.integers(-2, 3)) if rng.integers(2) else v - 1)))
        divisors.append(v)
    assert sum(map(count_add_backs, dividends, divisors)) >= 10
    check_division(engine, numbers, dividends, divisors)


def test_a_dividend_below_its_divisor_is_its_own_remainder(engine, numbers):
    check_division(engine, numbers, [0, 5, B, B * B - 1], [1, 6, B + 1, B * B])


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("operation", ["int_add", "int_sub", "int_mul", "int_divmod"])
def test_integer_operations_broadcast(engine, numbers, operation, shapes):
    modulus = numbers.modulus(129, "random")
    a, b = numbers.residues(modulus, shapes[0], 1), numbers.residues(modulus, shapes[1], 2)
    if operation == "int_divmod":
        b = numbers.objects([value or 1 for value in b.ravel()], shapes[1])
    found = getattr(engine, operation)(numbers.limbs(a, 3), numbers.limbs(b, 4))
    expected = {
        "int_add": lambda: (a + b,),
        "int_mul": lambda: (a * b,),
        "int_sub": lambda: (abs(a - b),),
        "int_divmod": lambda: (a // b, a % b),
    }[operation]()
    results = found if operation == "int_divmod" else (found[0] if operation == "int_sub" else found,)
    for result, wanted in zip(results, expected, strict=True):
        numbers.same(numbers.ints(result), wanted)


def test_results_are_fresh_arrays_and_operands_stay(each_engine, numbers):
    a = numbers.limbs(numbers.objects([B - 1, 5], (2,)), 2)
    b = numbers.limbs(numbers.objects([1, 7], (2,)), 2)
    before = a.copy(), b.copy()
    for result in (
        each_engine.int_add(a, b),
        each_engine.int_mul(a, b),
        *each_engine.int_divmod(a, b),
        each_engine.int_sub(a, b)[0],
    ):
        result[:] = 0
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


def test_limbs_that_are_not_contiguous(engine, numbers):
    values = numbers.residues(numbers.modulus(129, "random"), (6, 4))
    limbs = numbers.limbs(values, 3)
    numbers.same(numbers.ints(engine.int_add(limbs[::-1, ::2], limbs[:, 1::2])), values[::-1, ::2] + values[:, 1::2])
