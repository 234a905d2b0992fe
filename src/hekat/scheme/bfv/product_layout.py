"""How rows and columns lie in polynomials so that a product of two holds inner products, and what hides the rest.

d_0 .. d_(L-1), values of L rows, are the polynomial D = sum d_i Z^i. Columns enter as X = sum_j Z^(jL) sum_i x_(j,i)
Z^(L-1-i), N/L of them in one. The coefficient of D X at jL + L - 1 is then sum_i x_(j,i) d_i: terms of a neighbouring
column would need |i - i'| = L, and terms beyond Z^N wrap around, negated, to jL - 2 or below for j = 1. Rows beyond N
are further polynomials, whose products are added.

The other coefficients are sums that nobody may learn, and the noise depends on errors that hide the rows. So the party
that asks for a product adds a mask r, uniform mod q, to that coefficient of c0, sends no other coefficient of c0, and
adds a fresh encryption of zero, because c1 X would reveal X. The key's holder finds Delta m + noise + r mod q, which is
uniform, and returns its quotient by Delta. The asking party takes r off and has m, unless the noise carries beyond a
multiple of Delta: with odds of at most |noise| / Delta <= 2^-hiding_bits m comes out one unit off, and that unit is all
that the noise ever shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from hekat.engine.interface import IndexArray
from hekat.errors import BoundError
from hekat.scheme.bfv.parameters import BfvParameters

# Noise shows in an opened number with odds of at most two to the minus so many.
MIN_HIDING_BITS: Final = 40


@dataclass(frozen=True)
class ProductLayout:
    """`block` rows in a polynomial, products at multiples of `delta`.

    No product exceeds `product_bound`; the noise of a product exceeds `noise_bound` only with the odds of
    `fresh_noise`. Raises BoundError where the modulus has no room for both.
    """

    parameters: BfvParameters
    block: int
    product_bound: int
    noise_bound: int

    def __post_init__(self) -> None:
        if self.hiding_bits < MIN_HIDING_BITS:
            room_bits = self.parameters.modulus.bit_length() - 2 - MIN_HIDING_BITS
            raise BoundError(
                f"parameter set {self.parameters.name} has no room for products of this size",
                expected=f"bits of products and of their noise of at most {room_bits} together",
                got=f"{self.product_bound.bit_length()} and {self.noise_bound.bit_length()} bits",
                cure="lower fixed_point.value_bits or fixed_point.feature_bits, or use protection.kind = 'paillier'",
            )

    @property
    def columns(self) -> int:
        """Columns in one polynomial."""
        return self.parameters.degree // self.block

    def groups(self, row_count: int) -> int:
        """Polynomials that `row_count` rows take."""
        return -(-row_count // self.block)

    def positions(self, column_count: int, target_count: int) -> tuple[IndexArray, IndexArray]:
        """Where the products of `column_count` columns with `target_count` lines of rows lie, in C order of shape
        (columns, targets): each product's ciphertext number and coefficient; the polynomials of a line lie together.
        """
        column, target = (index.ravel() for index in np.indices((column_count, target_count)))
        polynomial, inside = np.divmod(column, self.columns)
        return target * -(-column_count // self.columns) + polynomial, (inside + 1) * self.block - 1

    @cached_property
    def delta(self) -> int:
        """Delta: the modulus over a power of two that products and their signs fit below."""
        # The bound plus one still fits: a carry may add one unit.
        return self.parameters.modulus >> ((self.product_bound + 1).bit_length() + 1)

    @property
    def hiding_bits(self) -> int:
        """The odds that noise shows in an opened number are at most two to the minus so many."""
        return (self.delta // self.noise_bound).bit_length() - 1

    @property
    def opened_bits(self) -> int:
        """Bits of an opened number."""
        return (self.parameters.modulus // self.delta).bit_length()


def lay_out_products(
    parameters: BfvParameters, product_bound: int, factor_bound: int, row_count: int, *, row_addends: int, products: int
) -> ProductLayout:
    """The layout for products of plain factors with encrypted rows, and for sums of such products.

    `product_bound` bounds every product, every sum of products, and every number added to one. `factor_bound` bounds
    the factors' magnitudes. `row_count`: rows of the largest batch; `row_addends`: fresh ciphertexts in the sum that
    encrypts a row; `products`: most products in the sum of one number. Raises as `ProductLayout`.
    """
    block = min(row_count, parameters.degree)
    groups = -(-row_count // block)
    # Every coefficient of a polynomial adds noise, also the coefficients of other columns.
    of_products = products * groups * parameters.degree * factor_bound * row_addends
    # Added to them: the parties' own addends, and the zero that hides the factors.
    noise_bound = (of_products + row_addends + 1) * parameters.fresh_noise
    return ProductLayout(parameters, block, product_bound, noise_bound)
