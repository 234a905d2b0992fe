"""Moduli and residues that carry far: full and empty limbs of 52 and of 64 bits, ends of ranges, Montgomery forms.

An engine works on x R mod n, so the residue whose form is X has to be given as X / R mod n. R is unknown here: every
residue comes once as it is, and once for each R an engine may have chosen.
"""

from __future__ import annotations

import random
from functools import cache
from math import gcd

import pytest
from tests.conformance.structured.inverse import inverse_of

from hekat.engine.interface import Modulus

LIMB_SIZES = (52, 64)
TILE_BITS = 512
# Divides the moduli of three shapes: what shares it has no inverse, and two such may make zero.
FACTOR = 105


class Operands:
    """Structured moduli, the radices they may be held under, and residues."""

    @staticmethod
    @cache
    def root(bits: int, shape: str) -> int:
        """An odd number of `bits` bits."""
        top = 1 << bits - 1
        if shape == "ones":
            return 2 * top - 1
        if shape == "below":
            return 2 * top - 1 - (2 * top - 1 - FACTOR) % (2 * FACTOR)
        if shape == "above":
            return top + 1 + (FACTOR - top - 1) % (2 * FACTOR)
        if shape == "random":
            value = top + random.Random(bits).getrandbits(bits - 2)
            return value + (FACTOR - value) % (2 * FACTOR)
        # All ones but one limb in the middle, which is clear.
        limb_bits = {"hole of 52": 52, "hole of 64": 64}[shape]
        return 2 * top - 1 - ((1 << limb_bits) - 1 << bits // limb_bits // 2 * limb_bits)

    @staticmethod
    @cache
    def modulus(bits: int, shape: str) -> Modulus:
        return Modulus(Operands.root(bits, shape))

    @staticmethod
    @cache
    def square(bits: int, shape: str) -> Modulus:
        """The square of a root of `bits` bits, root known."""
        n = Operands.root(bits, shape)
        return Modulus(n * n, root=n)

    @staticmethod
    def radices(n: int) -> list[int]:
        """2^(52 L) and 2^(512 t): as small as n allows, and with two or four bits to spare for lazy ranges."""
        bits = n.bit_length()
        sizes = {-(-(bits + spare) // 52) * 52 for spare in (0, 2, 4)} | {-(-bits // TILE_BITS) * TILE_BITS}
        return [1 << size for size in sorted(sizes)]

    @staticmethod
    def numbers(n: int) -> list[int]:
        """Numbers below n that are structured themselves."""
        bits = n.bit_length()
        cut = (1 << bits - 1) - 1
        values = [2, n >> 1, (n >> 1) + 1, 1 << bits - 1, cut, n - FACTOR, n // FACTOR, FACTOR]
        for limb_bits in LIMB_SIZES:
            full = (1 << limb_bits) - 1
            edges = range(limb_bits, bits - 1, limb_bits)
            values += [1 << edge for edge in edges] + [(1 << edge) - 1 for edge in edges]
            values += [n - (1 << edge) for edge in edges] + [cut ^ (full << edge) & cut for edge in edges]
            for step in (1, 2, 3):
                values.append(sum(1 << edge for edge in edges[::step]))
                values.append(sum(full << edge for edge in edges[::step]) & cut)
        rng = random.Random(n)
        return [value % n for value in values] + [rng.randrange(n) for _ in range(8)]

    @staticmethod
    @cache
    def ends_and_lifted(n: int) -> tuple[list[int], list[int]]:
        """Ends and powers of the radices; and the structured numbers, lifted and not."""
        radices = Operands.radices(n)
        ends = [0, 1, n - 1, n - 2]
        plain = Operands.numbers(n)
        lifted = plain.copy()
        for radix in radices:
            inverse = inverse_of(radix, n)
            ends += [radix % n, inverse, radix * radix % n, (n - 1) * inverse % n]
            lifted += [value * inverse % n for value in plain]
        return ends, lifted

    @staticmethod
    @cache
    def residues(modulus: Modulus, most: int | None = None) -> list[int]:
        """Ends and powers of the radices, then the structured numbers, lifted and not; at most about `most` of these.

        Draws the same ones each time.
        """
        ends, lifted = Operands.ends_and_lifted(modulus.value)
        if most is not None and most < len(lifted):
            lifted = random.Random(modulus.value).sample(lifted, most)
        return ends + lifted

    @staticmethod
    def units(modulus: Modulus, most: int | None = None) -> list[int]:
        """Those of `residues` that have an inverse."""
        return [value for value in Operands.residues(modulus, most) if gcd(value, modulus.value) == 1]

    @staticmethod
    @cache
    def landing_pairs(modulus: Modulus) -> list[tuple[int, int]]:
        """Pairs (x, y) whose Montgomery product is exactly 0, 1 or n - 1, under each radix."""
        n = modulus.value
        units = Operands.units(modulus, 8)[-8:]
        pairs = []
        for radix in Operands.radices(n):
            inverse = inverse_of(radix, n)
            for x in units:
                pairs += [(x, target * inverse * inverse_of(x, n) % n) for target in (1, n - 1)]
            if n % FACTOR == 0:
                # Multiples of 7 and of n / 7: their product of forms is no zero, but divisible by n.
                pairs += [(7 * k * inverse % n, n // 7 * j * inverse % n) for k, j in ((1, 1), (n // 14, 5), (3, 6))]
                pairs.append((n // 7 * inverse % n, (n - 7) * inverse % n))
        return pairs


@pytest.fixture(scope="session")
def operands() -> type[Operands]:
    return Operands
