"""Multiply-adds of 32-bit words that an operation needs by its formula: what a GPU's own rate sets as its limit.

A number of `bits` bits is L = ceil(bits / 32) words; a multiply-add takes two words, adds the product to two more and
is one IMAD.WIDE.U32. Formulas: the pairs of engine/cuda/kernels/pairs.cuh, Montgomery's product of montgomery.cuh.
"""

from __future__ import annotations

from dataclasses import dataclass

WORD_BITS = 32


@dataclass(frozen=True)
class Ring:
    """Multiply-adds of a product, a square, and a product with an entry of a fixed base's table."""

    product: float
    square: float
    factor: float
    bring_in: float = 0

    def power(self, bits: int, window: int) -> float:
        """A power by fixed windows, with the table of the base's own small powers."""
        digits = -(-bits // window)
        return (digits - 1 + 2**window - 2) * self.product + window * (digits - 1) * self.square

    def fixed_base(self, bits: int, window: int) -> float:
        """A power from a full-window table; of factors, the last product brings the power back into a pair."""
        return (-(-bits // window) - 1) * self.factor + self.bring_in


def words(bits: int) -> int:
    """32-bit words of a number of `bits` bits."""
    return -(-bits // WORD_BITS)


def any_modulus(bits: int) -> Ring:
    """L^2 for the product of two numbers, as many for its reduction; squares are products."""
    one = words(bits) ** 2
    return Ring(2 * one, 2 * one, 2 * one)


def squared_modulus(root_bits: int) -> Ring:
    """Pairs: three products of numbers and two reductions; a square has two products; a factor as well."""
    one = words(root_bits) ** 2
    return Ring(5 * one, 4 * one, 4 * one, bring_in=2 * one)


def message_factor(root_bits: int) -> float:
    """A product with 1 + v n mod n^2: v into Montgomery form, and a product mod n."""
    return 2 * any_modulus(root_bits).product
