"""What lattice reduction with sieving achieves and costs: root Hermite factor, core-SVP and MATZOV models."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, inf, log, log2, pi
from typing import Protocol

# Below it the root Hermite factor's formula does not hold.
SMALLEST_BLOCK = 50


@dataclass(frozen=True)
class Instance:
    """LWE in `dimension` unknowns modulo 2^`modulus_bits`: what the attacks are priced for.

    Secret and error are known by their standard deviations; `samples` is what an attacker can get of b = <a, s> + e.
    """

    dimension: int
    modulus_bits: float
    secret_deviation: float
    error_deviation: float
    samples: float = inf

    @property
    def log_modulus(self) -> float:
        """ln q."""
        return self.modulus_bits * log(2)

    @property
    def log_scale(self) -> float:
        """ln of the factor that brings the secret's coordinates to the error's size."""
        return log(self.error_deviation / self.secret_deviation)

    def log_volume(self, lattice_dimension: int) -> float:
        """ln of the volume of the lattice of (error, scaled secret) with `lattice_dimension` coordinates."""
        return (lattice_dimension - self.dimension) * self.log_modulus + self.dimension * self.log_scale


@dataclass(frozen=True)
class Attack:
    """An attack at its cheapest: log2 of its cost, its block size, the dimension of its lattice."""

    name: str
    bits: float
    block_size: int
    lattice_dimension: int


class CostModel(Protocol):
    """Prices reduction with block size beta in a lattice of dimension d, and a sieve that yields many short vectors."""

    def reduction_bits(self, beta: int, d: int) -> float:
        """log2 of the cost of reducing the whole basis."""

    def sieve_dimension(self, beta: int, d: int) -> int:
        """Dimension of the sieve that turns a reduced basis into short vectors, 2^(0.2075 dimension) at a time."""

    def sieve_bits(self, dimension: int) -> float:
        """log2 of the cost of that sieve, beside the reduction; -inf where it comes with it."""


class CoreSvp:
    """One sieve in dimension beta, 2^(0.292 beta), and nothing else.

    Source: Alkim, Ducas, Pöppelmann, Schwabe, "Post-quantum key exchange: a new hope", USENIX Security 2016, section 6.
    """

    def reduction_bits(self, beta: int, d: int) -> float:
        """log2 of the cost of one call of the SVP oracle, whatever d is."""
        return 0.292 * beta

    def sieve_dimension(self, beta: int, d: int) -> int:
        """The oracle's own dimension: its list is the harvest."""
        return beta

    def sieve_bits(self, dimension: int) -> float:
        """Nothing more is paid."""
        return -inf


class Matzov:
    """Gates of progressive BKZ with list-decoding sieves in the RAM model.

    A sieve in dimension k takes C 2^(a k + b) gates; C = 1 / (1 - 2^-0.292) sums the sieves of lower dimension that
    lead to it; dimensions for free shorten a block of beta to beta - beta ln(4/3) / ln(beta / 2 pi e); the blocks of a
    basis cost C (d - beta) of them, and d^3 operations handle the basis itself.

    Source: MATZOV, "Report on the security of LWE: improved dual lattice attack", Zenodo 6412487, 2022, sections 6 and
    7; a and b as fitted to its table by the lattice estimator (github.com/malb/lattice-estimator, reduction.py, class
    MATZOV, list_decoding-classical); Ducas, "Shortest vector from lattice sieving: a few dimensions for free",
    Eurocrypt 2018.
    """

    SLOPE = 0.29613500308205365
    OFFSET = 20.387885985467914
    PROGRESSIVE = 5.46

    def reduction_bits(self, beta: int, d: int) -> float:
        """log2 of the gates of reducing a basis of dimension d with blocks of beta."""
        one_block = self.sieve_bits(beta - self._free_dimensions(beta))
        return log2(d**3 + 2 ** (one_block + log2(self.PROGRESSIVE * max(d - beta, 1))))

    def sieve_dimension(self, beta: int, d: int) -> int:
        """The largest sieve that costs no more than the reduction before it: MATZOV section 4.2."""
        extra = log2(max(d - beta, 1) * self.PROGRESSIVE) / self.SLOPE
        # The dimension is counted down from whole dimensions for free, as the estimator does.
        return min(d, int(beta - int(self._free_dimensions(beta)) + extra))

    def sieve_bits(self, dimension: float) -> float:
        """log2 of the gates of one sieve with those that lead to it."""
        return log2(self.PROGRESSIVE) + self.SLOPE * dimension + self.OFFSET

    @staticmethod
    def _free_dimensions(beta: int) -> float:
        return beta * log(4 / 3) / log(beta / (2 * pi * e))


def log_root_hermite(beta: int) -> float:
    """ln of the root Hermite factor of reduction with block size beta.

    Source: Chen, "Réduction de réseau et sécurité concrète du chiffrement complètement homomorphe", 2013, section 4.2.
    """
    return (log(beta / (2 * pi * e)) + log(pi * beta) / beta) / (2 * (beta - 1))


def add_bits(one: float, other: float) -> float:
    """log2 of the sum of two costs that are given as log2."""
    high, low = max(one, other), min(one, other)
    return high if low == -inf or high == inf else high + log2(1 + 2 ** (low - high))
