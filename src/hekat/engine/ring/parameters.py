"""Polynomial rings with word-sized primes, and how slots of integers lie in their masked elements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

import gmpy2

from hekat.errors import InputError

DEGREES = (1024, 2048, 4096, 8192)
# Of polynomials in a power of X; so many neighbouring slots are alike.
STRIDES = (1, 2, 4, 8)
MAX_PRIME_BITS = 50
MAX_PRIME_COUNT = 2
# Of a modulus that is made of several rings.
MAX_MODULUS_PRIMES = 8
MAX_FRACTION_BITS = 128
MAX_SLOTS = 8
MAX_SLOT_BITS = 44
MAX_DELTA_BITS = 20


@dataclass(frozen=True)
class Ring:
    """Z_q[X] / (X^N + 1): N is `degree`, q the product of one or two primes p < 2^50 with p = 1 mod 2N.

    Elements cross the engine's interface as uint64 arrays (..., primes, N) of canonical residues, one row a prime. With
    a `stride` s it is the ring of polynomials in Y = X^s of a ring of degree s N, by that ring's root: slot j of an
    element's transform there has the value of slot floor(j / s) here, since slot j's value at psi^(2 brv(j) + 1)
    depends on the upper bits of j alone.
    """

    degree: int
    primes: tuple[int, ...]
    stride: int = 1

    def __post_init__(self) -> None:
        if self.degree not in DEGREES:
            _refuse("ring degree", f"one of {', '.join(map(str, DEGREES))}", str(self.degree))
        if self.stride not in STRIDES:
            _refuse("stride of a ring", f"one of {', '.join(map(str, STRIDES))}", str(self.stride))
        order = 2 * self.degree * self.stride
        if not 1 <= len(self.primes) <= MAX_PRIME_COUNT or len(set(self.primes)) != len(self.primes):
            _refuse("primes of a ring", f"1 to {MAX_PRIME_COUNT} different ones", f"{len(self.primes)}")
        for p in self.primes:
            fits = p.bit_length() <= MAX_PRIME_BITS and p % order == 1
            if not fits or not gmpy2.is_prime(p):
                _refuse("a prime of a ring", f"a prime below 2^{MAX_PRIME_BITS} that is 1 mod {order}", str(p))

    @cached_property
    def modulus(self) -> int:
        """q, the product of the primes."""
        return prod(self.primes)

    @property
    def element_shape(self) -> tuple[int, int]:
        """(primes, N): one row of residues a prime."""
        return len(self.primes), self.degree

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """For each prime psi of the transform's definition: the smallest primitive 2N-th root of unity, with a stride
        the power by it of the larger ring's."""
        return tuple(pow(_smallest_root(self.degree * self.stride, p), self.stride, p) for p in self.primes)


@dataclass(frozen=True)
class MaskFormat:
    """How values lie in ring elements, chunk by chunk, and how a masked element is written.

    A chunk is one ring element. Each of its N coefficients holds m = sum of x_j 2^(j * slot_bits) over `slots` balanced
    digits x_j, times `delta` = floor(q / 2^(slots * slot_bits)). Digit j of coefficient n is the chunk's slot j * used
    + n, where `used` is N, or the coefficients that a last, partly filled chunk needs. Slot 0 of every chunk counts
    addends (1 in one contribution); the values follow, and the other slots are zero.

    An element is written as round(coefficient / 2^dropped_bits), a sum as round(coefficient / 2^sum_dropped_bits),
    halves up; with two primes as two fields, low ceil(bits / 2) bits and the rest. Written bytes of a chunk: the low
    fields of its used coefficients, bit after bit from the least significant of the first byte on, padded to a whole
    byte; then the high fields likewise.
    """

    ring: Ring
    slots: int
    slot_bits: int
    dropped_bits: int
    sum_dropped_bits: int

    def __post_init__(self) -> None:
        q_bits = self.ring.modulus.bit_length()
        _check_range("slots of a coefficient", self.slots, 1, MAX_SLOTS)
        _check_range("bits of a slot", self.slot_bits, 2, MAX_SLOT_BITS)
        delta_bits = self.delta.bit_length()
        _check_range("bits of delta", delta_bits, 2, MAX_DELTA_BITS)
        # Dropping more bits would make neighbouring plaintexts equal.
        _check_range("dropped bits", self.dropped_bits, 0, delta_bits - 1)
        _check_range("dropped bits of a sum", self.sum_dropped_bits, 0, delta_bits - 1)
        for dropped in (self.dropped_bits, self.sum_dropped_bits):
            # Near a power of two, rounding up needs one bit more than the modulus has.
            if (self.ring.modulus - 1 + (1 << dropped >> 1)) >> dropped >= 1 << (q_bits - dropped):
                _refuse("a modulus", f"one whose rounded residues have {q_bits - dropped} bits", "a larger one")

    @cached_property
    def delta(self) -> int:
        """The distance of neighbouring plaintexts in a coefficient."""
        return self.ring.modulus >> (self.slots * self.slot_bits)

    @cached_property
    def values_per_chunk(self) -> int:
        """Values of a full chunk, without its count slot."""
        return self.slots * self.ring.degree - 1

    @cached_property
    def field_bits(self) -> tuple[int, ...]:
        """Bits of each field of a written coefficient of one contribution, one field for each prime."""
        return self._split(self.ring.modulus.bit_length() - self.dropped_bits)

    @cached_property
    def sum_field_bits(self) -> tuple[int, ...]:
        """As `field_bits`, of a written sum."""
        return self._split(self.ring.modulus.bit_length() - self.sum_dropped_bits)

    def chunk_count(self, value_count: int) -> int:
        """Chunks of `value_count` values; at least one, for the count."""
        return max(1, -(-value_count // self.values_per_chunk))

    def last_used(self, value_count: int) -> int:
        """Coefficients that the last chunk of `value_count` values uses."""
        in_last = value_count - (self.chunk_count(value_count) - 1) * self.values_per_chunk
        return -(-(in_last + 1) // self.slots)

    def field_count(self, value_count: int) -> int:
        """Fields of all chunks of `value_count` values: the length of their accumulator."""
        coefficients = (self.chunk_count(value_count) - 1) * self.ring.degree + self.last_used(value_count)
        return coefficients * len(self.ring.primes)

    def written_bytes(self, value_count: int) -> int:
        """Bytes of one written contribution of `value_count` values."""
        return self._bytes(value_count, self.field_bits)

    def written_sum_bytes(self, value_count: int) -> int:
        """Bytes of a written sum of `value_count` values."""
        return self._bytes(value_count, self.sum_field_bits)

    def _bytes(self, value_count: int, field_bits: tuple[int, ...]) -> int:
        full, used = self.chunk_count(value_count) - 1, self.last_used(value_count)
        return sum(full * self.ring.degree * bits // 8 + (used * bits + 7) // 8 for bits in field_bits)

    def _split(self, bits: int) -> tuple[int, ...]:
        return (bits,) if len(self.ring.primes) == 1 else ((bits + 1) // 2, bits // 2)


@lru_cache(maxsize=32)
def shorten(ring: Ring, stride: int) -> Ring:
    """The ring of polynomials in X^stride. Raises InputError for a stride that leaves no degree of a ring."""
    return Ring(ring.degree // stride, ring.primes, ring.stride * stride)


def _smallest_root(degree: int, p: int) -> int:
    """The smallest psi with psi^N = -1 mod p."""
    # Every x^((p-1)/2N) has an order that divides 2N; the odd powers of a root of full order are all such roots.
    root = next(r for x in range(2, p) if pow(r := pow(x, (p - 1) // (2 * degree), p), degree, p) == p - 1)
    square, power, smallest = root * root % p, root, root
    for _ in range(degree - 1):
        power = power * square % p
        smallest = min(smallest, power)
    return smallest


def _check_range(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        _refuse(what, f"{least} to {most}", str(value))


def _refuse(what: str, expected: str, got: str) -> None:
    raise InputError(f"{what} refused", expected=expected, got=got)
