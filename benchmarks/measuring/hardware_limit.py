"""Multiply-adds that an operation needs by its formula: what the processor's own rate sets as the limit of its speed.

A number of `bits` bits is L = ceil((bits + 4) / 52) words in the vector path, four bits being spare for lazy sums. A
product of words is two vpmadd52, one for each half of the result, and a 512-bit register serves eight numbers at once.
Formulas: spec of the pairs (native/src/bigint/montgomery_pairs.hpp), of their factors (vector_pair_factors.hpp), and of
the exponentiations named below.
"""

from __future__ import annotations

from dataclasses import dataclass

WORD_BITS, SPARE_BITS = 52, 4
LANES = 8
MADDS_PER_WORD_PRODUCT = 2
WINDOWS = range(1, 13)


def words(bits: int) -> int:
    """52-bit words of a number of `bits` bits."""
    return -(-(bits + SPARE_BITS) // WORD_BITS)


@dataclass(frozen=True)
class Work:
    """Word products one item needs, and the formula in words."""

    word_products: float
    formula: str

    @property
    def madds(self) -> float:
        """512-bit vpmadd52 instructions an item."""
        return self.word_products * MADDS_PER_WORD_PRODUCT / LANES

    def __add__(self, other: Work) -> Work:
        return Work(self.word_products + other.word_products, f"{self.formula} + {other.formula}")

    def times(self, count: int) -> Work:
        return Work(count * self.word_products, f"{count} x ({self.formula})")


@dataclass(frozen=True)
class Ring:
    """Word products of a product and of a square modulo one number.

    factor: of a product by an entry of a fixed-base table. bring_in: of what a power from such a table ends with.
    """

    name: str
    product: float
    square: float
    factor: float
    bring_in: float = 0

    def work(self, products: float, squares: float = 0, of: str = "") -> Work:
        counted = f"{products:.4g} products" + (f" and {squares:.4g} squares" if squares else "")
        total = products * self.product + squares * self.square
        return Work(total, f"{counted} mod {self.name}{f' ({of})' if of else ''}")

    def fixed_base(self, positions: int) -> Work:
        """A power from a full-window table: one entry a position, multiplied together."""
        total = (positions - 1) * self.factor + self.bring_in
        return Work(total, f"{positions} positions of a fixed base mod {self.name}")

    def power(self, bits: int) -> Work:
        """A power with an exponent of `bits` bits by fixed windows of the best width."""

        def count(window: int) -> tuple[int, int]:
            digits = -(-bits // window)
            return digits - 1 + max(0, 2**window - 2), window * (digits - 1)

        def cost(window: int) -> float:
            products, squares = count(window)
            return products * self.product + squares * self.square

        window = min(WINDOWS, key=cost)
        return self.work(*count(window), of=f"window {window}")

    def multi_power(self, bits: int, terms: int, results: int) -> Work:
        """One of `terms` signed terms of each of `results` products of powers, squarings shared; digits are signed."""

        def straus(window: int) -> float:
            return -(-(bits + 1) // window) + 2 * (2 ** (window - 1) - 1) / results

        def pippenger(window: int) -> float:
            return -(-(bits + 1) // window) * (1 + 2 * 2 ** (window - 1) / terms)

        cost, name, window = min(
            (function(window), name, window)
            for name, function in (("tables", straus), ("buckets", pippenger))
            for window in WINDOWS
        )
        return self.work(cost, bits / terms, of=f"{name}, signed digits of {window} bits")


def any_modulus(bits: int) -> Ring:
    """Montgomery arithmetic modulo an odd number: L^2 words for the product, as many for its reduction."""
    return Ring(f"a {bits}-bit number", 2 * words(bits) ** 2, 1.5 * words(bits) ** 2, 2 * words(bits) ** 2)


def squared_modulus(root_bits: int, name: str = "n^2") -> Ring:
    """Arithmetic modulo a square by pairs of residues modulo its root; tables hold factors."""
    one = words(root_bits) ** 2
    return Ring(name, 5 * one, 3.5 * one, factor=4 * one, bring_in=4 * one)


def message_factor(key_bits: int) -> Work:
    """A product with 1 + m n mod n^2: two products mod n."""
    return Work(4 * words(key_bits) ** 2, "1 + m n")


def joined_halves(key_bits: int) -> Work:
    """What is congruent to one number mod p^2 and to another mod q^2, of two primes of half the bits.

    For each half a product mod p^2 and one by q^2, and for their sum a reduction mod n^2 in two digits.
    """
    half, whole = words(key_bits // 2) ** 2, words(key_bits) ** 2
    return Work(2 * (5 + 4) * half + 6 * whole, "halves joined")
