"""How vectors lie in slots, and what noise sums of their products have.

A vector of residues mod a prime p takes a plaintext for each N of them, zeros behind the last one. A sum of products
adds T terms, each a plain vector times an encrypted one; a folded sum adds its blocks to each other as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from hekat.engine.ring.parameters import Ring
from hekat.errors import BoundError, InputError
from hekat.scheme.bfv.parameters import PRODUCTS, RESIDUE_BYTES, BfvParameters
from hekat.scheme.bfv.shared_products.layout import NOISE_OF_AN_ENTRY, first_primes, rounding_noise

# A unit in one coefficient is another number in every slot. A run has well below 2^16 answers, and may miss in one of
# 2^32 runs.
MIN_EXACT_BITS: Final = 48


@dataclass(frozen=True)
class SlotVector:
    """A vector of `count` residues mod `prime`, in blocks of N.

    Raises InputError for an empty vector, and for a prime that is not 1 mod 2 N and below 2^50, or divides q.
    """

    parameters: BfvParameters
    prime: int
    count: int

    def __post_init__(self) -> None:
        Ring(self.parameters.degree, (self.prime,))
        if self.prime in self.parameters.primes:
            raise InputError("a prime of slots refused", expected="one that does not divide q", got="one that does")
        if self.count < 1:
            raise InputError("a vector of slots refused", expected="1 number or more", got=str(self.count))

    @cached_property
    def ring(self) -> Ring:
        """Polynomials mod `prime`."""
        return Ring(self.parameters.degree, (self.prime,))

    @property
    def blocks(self) -> int:
        """Plaintexts."""
        return -(-self.count // self.parameters.degree)

    @property
    def written_bytes(self) -> int:
        """Bytes of the numbers of the encrypted vector on the wire."""
        return self.blocks * self.parameters.polynomial_bytes


@dataclass(frozen=True)
class SlotSums:
    """Public facts that both parties share for one sum of products; `lay_out_slot_sums` makes it.

    `sums`: where its numbers lie. `products`: of plaintexts and ciphertexts that one block adds up. `kept_primes`: an
    answer has its residues mod the first so many primes. `noise_bound`: what is added to q y / p, mod q, before primes
    are dropped; larger with odds below 2^-120 a coefficient.
    """

    sums: SlotVector
    folded: bool
    products: int
    kept_primes: int
    noise_bound: int

    @property
    def parameters(self) -> BfvParameters:
        return self.sums.parameters

    @cached_property
    def kept(self) -> BfvParameters:
        """The ring of an answer: the first primes of the set."""
        return first_primes(self.parameters, self.kept_primes)

    @property
    def exact_bits(self) -> float:
        """Any number of a block misses its sum with odds of at most two to the minus so many."""
        return _exact_bits(self.parameters, self.sums.prime, self.kept_primes, self.noise_bound)

    @property
    def answer_bytes(self) -> int:
        """Bytes of the numbers of an answer on the wire."""
        return 2 * self.sums.blocks * self.parameters.degree * RESIDUE_BYTES * self.kept_primes


@lru_cache(maxsize=256)
def lay_out_slot_sums(
    parameters: BfvParameters = PRODUCTS, *, prime: int, count: int, terms: int = 1, folded: bool = False
) -> SlotSums:
    """The layout of sums of products of vectors of `count` residues mod `prime`.

    Args:
        terms: Products of vectors that are added up.
        folded: Whether blocks of N numbers are added to each other as well, so that N sums are left (where a vector
            has one block, all its numbers).

    Raises:
        InputError: Impossible facts.
        BoundError: The modulus has no room for the noise of so many products.
    """
    vector = SlotVector(parameters, prime, count)
    if terms < 1:
        raise InputError("a sum of products of slots refused", expected="1 term or more", got=str(terms))
    products = terms * vector.blocks if folded else terms
    # Each coefficient of a product is a sum of N: a plain coefficient times the noise of an encrypted one.
    noise = products * parameters.degree * (prime // 2) * NOISE_OF_AN_ENTRY + parameters.fresh_noise + 1
    counts = range(1, len(parameters.primes) + 1)
    kept = next((k for k in counts if _exact_bits(parameters, prime, k, noise) >= MIN_EXACT_BITS), None)
    if kept is None:
        raise BoundError(
            f"parameter set {parameters.name} has no room for a sum of so many products of slots",
            expected=f"odds of a wrong number of at most 2^-{MIN_EXACT_BITS} a ciphertext",
            got=f"{products} products mod a prime of {prime.bit_length()} bits",
            cure="add up fewer products, or use a smaller prime",
        )
    sums = SlotVector(parameters, prime, min(count, parameters.degree)) if folded else vector
    return SlotSums(sums, folded, products, kept, noise)


def _exact_bits(parameters: BfvParameters, prime: int, kept: int, noise: int) -> float:
    """-log2 of the odds that noise takes any of N coefficients over a multiple of q / p."""
    total = noise / parameters.modulus
    if kept < len(parameters.primes):
        total += rounding_noise(parameters.degree) / first_primes(parameters, kept).modulus
    return -math.log2(parameters.degree * prime * total)
