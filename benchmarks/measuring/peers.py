"""What Hekat is measured beside: Paillier written with gmpy2, one number at a time, with and without tables.

gmpy2 does what a careful textbook does: 1 + m n instead of (n+1)^m, decryption modulo p^2 and q^2, randomness of the
operating system for every ciphertext. None of it is constant time.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import gmpy2

TABLE_WINDOWS = range(6, 13)


class Textbook:
    """Paillier as first published, decryption by the Chinese remainder theorem."""

    def __init__(self, p: int, q: int) -> None:
        self.p, self.q = gmpy2.mpz(p), gmpy2.mpz(q)
        self.n = self.p * self.q
        self.n2 = self.n**2
        self.halves = []
        for prime in (self.p, self.q):
            square = prime * prime
            h = gmpy2.invert((gmpy2.powmod(self.n + 1, prime - 1, square) - 1) // prime, prime)
            self.halves.append((prime, square, h))
        self.p_inverse = gmpy2.invert(self.p, self.q)

    def randomiser(self) -> Any:
        """r^n mod n^2 for a fresh r."""
        return gmpy2.powmod(random_below(self.n), self.n, self.n2)

    def encrypt(self, m: int) -> Any:
        return (1 + m * self.n) * self.randomiser() % self.n2

    def decrypt(self, c: Any) -> int:
        """The plaintext as a signed number."""
        parts = [(gmpy2.powmod(c, prime - 1, square) - 1) // prime * h % prime for prime, square, h in self.halves]
        m = parts[0] + (parts[1] - parts[0]) * self.p_inverse % self.q * self.p
        return int(m - self.n if m > self.n // 2 else m)

    def product(self, ciphertexts: Iterable[Any]) -> Any:
        total = gmpy2.mpz(1)
        for c in ciphertexts:
            total = total * c % self.n2
        return total

    def segment_products(self, ciphertexts: Sequence[Any], segments: Sequence[int], count: int) -> list[Any]:
        totals = [gmpy2.mpz(1)] * count
        for c, segment in zip(ciphertexts, segments, strict=True):
            totals[segment] = totals[segment] * c % self.n2
        return totals

    def matmul(self, plain: Sequence[Sequence[int]], ciphertexts: Sequence[Any]) -> list[Any]:
        """plain @ ciphertexts; every ciphertext is inverted once, for all rows."""
        pairs = list(zip(ciphertexts, batch_inverses(ciphertexts, self.n2), strict=True))
        return [
            self.product(
                gmpy2.powmod(c if weight >= 0 else inverse, abs(weight), self.n2)
                for (c, inverse), weight in zip(pairs, row, strict=True)
            )
            for row in plain
        ]


class FixedBase:
    """Powers of one base from a table of all its windows, in Python."""

    def __init__(self, base: Any, modulus: Any, exponent_bits: int, window_bits: int) -> None:
        self.modulus, self.window_bits = modulus, window_bits
        self.rows = []
        for _ in range(-(-exponent_bits // window_bits)):
            row = [gmpy2.mpz(1)]
            for _ in range((1 << window_bits) - 1):
                row.append(row[-1] * base % modulus)
            self.rows.append(row)
            base = row[-1] * base % modulus

    def power(self, exponent: int) -> Any:
        modulus, window_bits = self.modulus, self.window_bits
        mask = (1 << window_bits) - 1
        total = gmpy2.mpz(1)
        for row in self.rows:
            digit = exponent & mask
            if digit:
                total = total * row[digit] % modulus
            exponent >>= window_bits
        return total


class DjnTables:
    """Encryption with h_s^a, h_s = h^n and a of |n|/2 bits: what the public key allows."""

    def __init__(self, book: Textbook, window_bits: int) -> None:
        self.book = book
        self.exponent_bits = -(-book.n.bit_length() // 2)
        x = random_below(book.n)
        base = gmpy2.powmod(book.n - x * x % book.n, book.n, book.n2)
        self.table = FixedBase(base, book.n2, self.exponent_bits, window_bits)

    def encrypt(self, m: int) -> Any:
        book = self.book
        return (1 + m * book.n) * self.table.power(secrets.randbits(self.exponent_bits)) % book.n2


class CrtTables:
    """Encryption with uniform n-th residues from tables mod p^2 and q^2, joined: what the private key allows."""

    def __init__(self, book: Textbook, window_bits: int) -> None:
        self.book = book
        self.tables = []
        for prime, square, _ in book.halves:
            root = next(g for g in range(2, 1000) if gmpy2.jacobi(g, prime) == -1)  # the primes are safe
            base = gmpy2.powmod(root, prime, square)
            self.tables.append((int(prime) - 1, FixedBase(base, square, prime.bit_length(), window_bits)))
        (_, self.p2, _), (_, self.q2, _) = book.halves
        self.p2_inverse = gmpy2.invert(self.p2, self.q2)

    def encrypt(self, m: int) -> Any:
        book = self.book
        x, y = (table.power(secrets.randbelow(order)) for order, table in self.tables)
        randomiser = x + (y - x) * self.p2_inverse % self.q2 * self.p2
        return (1 + m * book.n) * randomiser % book.n2


def fastest_tables(kind: type[DjnTables] | type[CrtTables], book: Textbook, sample: int = 64) -> Any:
    """`kind` with the window of TABLE_WINDOWS that encrypts fastest here."""
    candidates = map(partial(kind, book), TABLE_WINDOWS)
    return min(candidates, key=lambda candidate: _process_s(candidate, sample))


def batch_inverses(values: Sequence[Any], modulus: Any) -> list[Any]:
    """The inverses of all values by one inversion and three products each (Montgomery 1987)."""
    products = [gmpy2.mpz(1)]
    for value in values:
        products.append(products[-1] * value % modulus)
    rest = gmpy2.invert(products.pop(), modulus)
    inverses = []
    for value, before in zip(reversed(values), reversed(products), strict=True):
        inverses.append(rest * before % modulus)
        rest = rest * value % modulus
    return inverses[::-1]


def random_below(bound: Any) -> Any:
    return gmpy2.mpz(int.from_bytes(os.urandom(bound.bit_length() // 8 + 16), "little")) % bound


def _process_s(tables: DjnTables | CrtTables, sample: int) -> float:
    tables.encrypt(1)
    start = time.process_time()
    for m in range(sample):
        tables.encrypt(m)
    return time.process_time() - start
