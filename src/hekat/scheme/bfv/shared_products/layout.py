"""How two matrices lie in polynomials so that products of these hold the matrices' product, and what noise it has.

A plain matrix P (rows, inner) meets an encrypted one E (inner, columns) in blocks: of P b rows and n of the inner
dimension, of E n of it and k columns, b n k <= N. With a stride s that divides k, Y = X^s and column j = g s + c, entry
(r, i) of a plain block is the coefficient of Y^(r n + i) in its polynomial, entry (i, j) of an encrypted block the
coefficient of X^c Y^(n - 1 - i + g b n). The coefficient of X^c Y^(g b n + r n + n - 1) in the two polynomials' product
is then the entry (r, j) of the blocks' product: a term with i' in place of i lies |i - i'| < n powers of Y beside it,
so terms of other rows and columns never fall there, and what wraps around at Y^(N / s), negated, falls below n - 1.
Blocks of the inner dimension add up in one answer. Plain polynomials have N / s coefficients, and as many slots that
differ.

Numbers are integers mod t = 2^bits, an x is encrypted as the nearest integer to q x / t, and Delta = q / t.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isqrt
from typing import Final

from hekat.engine.ring.interface import CBD_BOUND
from hekat.engine.ring.parameters import Ring
from hekat.errors import BoundError, InputError
from hekat.scheme.bfv.elements import INT64_LIMIT
from hekat.scheme.bfv.parameters import PRODUCTS, RESIDUE_BYTES, BfvParameters
from hekat.scheme.bfv.shared_products.blocks import Blocks, Shape, choose_blocks

MAX_BITS: Final = 128
MAX_PLAIN_BOUND: Final = INT64_LIMIT - 1
# A coefficient of an encrypted matrix: the error, the rounding of its number, and of a number that was added to it.
NOISE_OF_AN_ENTRY: Final = CBD_BOUND + 1
# Where the sum of shares is opened, noise shows in a number with odds of at most two to the minus so many.
MIN_HIDING_BITS: Final = 40
# Dropped primes make the sum of shares one unit off with odds of at most two to the minus so many. Where the plain
# matrix's owner sees that sum, such a unit is an inequality on the secret key: a run may have a few of them.
MIN_ROUNDING_BITS: Final = 4
MIN_OPENED_ROUNDING_BITS: Final = 20


@dataclass(frozen=True)
class MatrixLayout:
    """Public facts that both parties share for one product of matrices; `lay_out_matrices` makes it.

    `kept_primes`: an answer has its residues mod the first so many primes. `noise_bound`: what is added to q y / t,
    for y the product, mod q, before primes are dropped; larger with odds below 2^-120 a number.
    """

    parameters: BfvParameters
    bits: int
    shape: Shape
    blocks: Blocks
    plain_bound: int
    kept_primes: int
    noise_bound: int

    @cached_property
    def kept(self) -> BfvParameters:
        """The ring of an answer: the first primes of the set."""
        return first_primes(self.parameters, self.kept_primes)

    @property
    def numbers(self) -> int:
        """Numbers of the product."""
        return self.shape.rows * self.shape.columns

    @property
    def hiding_bits(self) -> int:
        """The odds that noise shows in the sum of shares are at most two to the minus so many a number."""
        return (self.parameters.modulus // self.noise_bound).bit_length() - 1 - self.bits

    @property
    def rounding_bits(self) -> int | None:
        """Dropped primes make a sum of shares one unit off with odds of at most two to the minus so many a number.

        None where none is dropped.
        """
        if self.kept_primes == len(self.parameters.primes):
            return None
        return (self.kept.modulus // rounding_noise(self.parameters.degree)).bit_length() - 1 - self.bits

    @property
    def input_bytes(self) -> int:
        """Bytes of the numbers of the encrypted matrix on the wire."""
        return self.blocks.inputs(self.shape) * self.parameters.polynomial_bytes

    @property
    def answer_bytes(self) -> int:
        """Bytes of the numbers of an answer on the wire."""
        return self.blocks.answers(self.shape) * self.kept.polynomial_bytes + self.numbers * self._number_bytes

    def with_rows(self, rows: int) -> MatrixLayout:
        """The layout of a plain matrix of another number of rows that meets the same encrypted matrix."""
        return MatrixLayout(
            self.parameters,
            self.bits,
            Shape(rows, self.shape.inner, self.shape.columns),
            self.blocks,
            self.plain_bound,
            self.kept_primes,
            self.noise_bound,
        )

    def takes(self, other: MatrixLayout) -> bool:
        """Whether matrices that are encrypted in the other layout are in this one too."""
        return (
            (self.parameters, self.bits, self.blocks) == (other.parameters, other.bits, other.blocks)
            and self.shape.inner == other.shape.inner
            and self.shape.columns == other.shape.columns
        )

    @property
    def _number_bytes(self) -> int:
        return RESIDUE_BYTES * self.kept_primes


@lru_cache(maxsize=256)
def lay_out_matrices(
    parameters: BfvParameters = PRODUCTS,
    *,
    bits: int,
    rows: int,
    inner: int,
    columns: int,
    plain_bound: int,
    opened: bool,
    uses: int = 1,
    addends: int = 1,
    drop_primes: bool = True,
) -> MatrixLayout:
    """The layout with the least bytes for a plain matrix (rows, inner) times an encrypted one (inner, columns).

    Args:
        bits: Numbers are integers mod 2^bits, 1 to 128. The encrypted ones may be any.
        plain_bound: A bound of the plain integers' magnitudes, below 2^62; a number mod 2^60 counts as centred.
        opened: Whether one of both parties, or a third one, gets the sum of shares: noise has to be hidden from it.
        uses: Products that one encrypted matrix serves; what it takes on the wire counts once for all of them.
        addends: Answers of several parties that are added up before a number is opened.
        drop_primes: Whether answers drop the primes that their numbers do not need.

    Raises:
        InputError: Impossible facts.
        BoundError: The modulus has no room for the noise of such a product.
    """
    shape = Shape(rows, inner, columns)
    if not 1 <= bits <= MAX_BITS or min(uses, addends, *shape) < 1 or not 1 <= plain_bound <= MAX_PLAIN_BOUND:
        raise InputError(
            "a product of matrices refused",
            expected=f"1 to {MAX_BITS} bits, sizes and counts of 1 or more, plain integers within 2^62",
            got=f"{bits} bits, {rows} x {inner} times {inner} x {columns}, {uses} uses, {addends} addends",
        )
    kept = _kept_primes(parameters, bits, opened=opened) if drop_primes else len(parameters.primes)
    limit = _noise_limit(parameters, bits, kept, opened=opened)

    def noise_of(blocks: Blocks) -> int:
        terms = blocks.rows * blocks.inner * blocks.inner_count(shape)
        return addends * (terms * plain_bound * NOISE_OF_AN_ENTRY + parameters.fresh_noise + 1)

    blocks = choose_blocks(
        parameters.degree,
        shape,
        input_bytes=parameters.polynomial_bytes / uses,
        answer_bytes=parameters.degree * RESIDUE_BYTES * kept,
        fits=lambda blocks: noise_of(blocks) <= limit,
    )
    if blocks is None:
        raise BoundError(
            f"parameter set {parameters.name} has no room for a product of such matrices",
            expected=f"plain integers of at most {_largest_bits(parameters, limit, inner, addends)} bits",
            got=f"{plain_bound.bit_length()} bits, {inner} in each sum, mod 2^{bits}",
            cure="use fewer fraction bits for the plain matrix, or cut the sums into shorter ones",
        )
    return MatrixLayout(parameters, bits, shape, blocks, plain_bound, kept, noise_of(blocks))


def rounding_noise(degree: int) -> int:
    """A bound of what dropped primes add to an opened number, in units of the kept modulus.

    Each coefficient of c0 and c1 is off by at most 1/2, and a bit for the second drop, independently and by no rule
    that anybody chooses. With the secret s the sum is sub-Gaussian with proxy (1 + |s|^2) / 4, |s|^2 <= 16 N as
    `BfvParameters.fresh_noise` has it, and exceeds 16 deviations with odds of 2 exp(-128).
    """
    return 16 * (isqrt((16 * degree + 1) // 4) + 1)


@lru_cache(maxsize=16)
def first_primes(parameters: BfvParameters, count: int) -> BfvParameters:
    """The set with the first `count` primes of `parameters` alone; all of them are the set itself."""
    if count == len(parameters.primes):
        return parameters
    parts, left = [], count
    for part in parameters.parts:
        primes = part.primes[:left]
        left -= len(primes)
        if primes:
            parts.append(part if primes == part.primes else Ring(part.degree, primes))
    return BfvParameters(f"{parameters.name}, {count} primes", tuple(parts))


def _kept_primes(parameters: BfvParameters, bits: int, *, opened: bool) -> int:
    """The fewest primes that make a number one unit off as rarely as it has to be."""
    noise = rounding_noise(parameters.degree) << (bits + (MIN_OPENED_ROUNDING_BITS if opened else MIN_ROUNDING_BITS))
    counts = range(1, len(parameters.primes))
    enough = (count for count in counts if noise <= first_primes(parameters, count).modulus)
    return next(enough, len(parameters.primes))


def _noise_limit(parameters: BfvParameters, bits: int, kept: int, *, opened: bool) -> int:
    """The most noise before primes are dropped: a quarter of Delta with what the drop adds, or what hides it."""
    modulus = parameters.modulus
    limit = modulus >> (bits + 2)
    if kept < len(parameters.primes):
        limit -= rounding_noise(parameters.degree) * (modulus // first_primes(parameters, kept).modulus + 1)
    return min(limit, modulus >> (bits + MIN_HIDING_BITS)) if opened else limit


def _largest_bits(parameters: BfvParameters, limit: int, inner: int, addends: int) -> int:
    """Bits of the largest plain integers that any blocks have room for."""
    return max(0, limit // (addends * inner * NOISE_OF_AN_ENTRY)).bit_length()
