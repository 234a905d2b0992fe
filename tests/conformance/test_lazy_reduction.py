"""Conformance: residues that a path leaves unreduced between operations stay small enough, along the longest chains.

The path of AVX-512 IFMA keeps residues below 2 n where R = 2^(52 k) is above 4 n. With R just above 4 n a residue of
2.1 n is still right, and so is its square; each square is further off, and the sixth is wrong. So: moduli of 52 k - 2
bits with all upper bits set, values as wide as `reduce` takes, chains of squares. Square moduli are computed as pairs
of residues modulo their root, which have R above 16 times the root: roots of 52 k - 4 bits.
"""

from __future__ import annotations

import pytest

from hekat.engine.interface import Modulus

# 52 k - 2 bits, for k up to that of half of a key's modulus.
BITS = [50, 102, 518, 1454]
SQUARINGS = 6


def widest(modulus: Modulus, numbers) -> list[int]:
    """Values of twice the modulus' limbs: those whose digits of 52 k bits are large, all alike or one alone."""
    width = 128 * modulus.limb_count
    bits = 52 * -(-(modulus.bits + 2) // 52)
    ones = (1 << bits) - 1
    patterns = [(1 << width) - 1, (1 << width) - 2, ones, ones << bits, ones << bits | ones, ones << 2 * bits]
    patterns += [(1 << width) - 1 - (1 << shift) for shift in range(0, width, 13)]
    patterns += [numbers.random_int(width, seed) for seed in range(40)]
    return [value % (1 << width) for value in patterns]


def check_squares(engine, numbers, modulus: Modulus, values: list[int]) -> None:
    """`reduce`, then squares of squares: after each the residues are those of Python's integers."""
    found = engine.reduce(numbers.limbs(numbers.objects(values, (-1,)), 2 * modulus.limb_count), modulus)
    expected = numbers.objects([value % modulus.value for value in values], (-1,))
    for _ in range(SQUARINGS):
        found = engine.mod_mul(found, found)
        expected = expected * expected % modulus.value
    numbers.same(numbers.store(found), expected)


@pytest.mark.size_bits(50)
def test_the_residue_that_a_missing_subtraction_spoils(engine, numbers):
    modulus, x = Modulus(1102284464772283), 19270091013318528953873558857850
    check_squares(engine, numbers, modulus, [x])
    powers = engine.mod_exp(engine.reduce(numbers.limbs([x], 2), modulus), numbers.limbs(64, 1))
    numbers.same(numbers.store(powers), [pow(x, 64, modulus.value)])


# R^2 and R^3 modulo each are above 0.93 of it, so that the sum of digits times them is as large as it gets.
LARGE_POWERS = {
    50: 0x3FE89A76B92CF,
    258: 0x3FC60136626819D93C0CEF81CB0B3F623CB7FAFFF199680251EEF1831678E0CFD,
}


@pytest.mark.parametrize("bits", LARGE_POWERS)
def test_chains_of_squares_of_the_largest_digits(engine, numbers, bits):
    """One value in two thousand, whose digits both begin with six ones, is wrong where nothing is subtracted."""
    modulus, digit_bits = Modulus(LARGE_POWERS[bits]), bits + 2
    ones = 63 << digit_bits - 6
    drawn = [numbers.random_int(2 * digit_bits, seed) for seed in range(8000)]
    values = [(value | ones | ones << digit_bits) % (1 << 128 * modulus.limb_count) for value in drawn]
    check_squares(engine, numbers, modulus, values)


@pytest.mark.parametrize("kind", ["ones", "random", "sparse"])
@pytest.mark.parametrize("bits", BITS)
def test_chains_of_squares_of_wide_values(engine, numbers, bits, kind):
    modulus = numbers.modulus(bits, kind)
    check_squares(engine, numbers, modulus, widest(modulus, numbers))


@pytest.mark.parametrize("root_bits", [48, 50, 516, 518])
def test_chains_of_squares_modulo_a_square(engine, numbers, root_bits):
    for gap in (1, 3):
        root = (1 << root_bits) - gap
        modulus = Modulus(root * root, root=root)
        check_squares(engine, numbers, modulus, widest(modulus, numbers))
