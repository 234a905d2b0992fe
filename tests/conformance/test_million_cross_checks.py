"""Conformance, long: a million results of each native path against GMP, moduli of 512 to 8192 bits, mostly small."""

from __future__ import annotations

from collections import Counter
from math import gcd, prod

import gmpy2
import numpy as np
import pytest

from hekat.engine.interface import Modulus
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints

pytestmark = [pytest.mark.long, pytest.mark.reference_apart, pytest.mark.size_bits(16384)]

SEED = 20261121
BATCH = 1000
# The least and the most bits of a modulus, and how many results.
BANDS = [
    (512, 640, 400_000),
    (641, 1100, 330_000),
    (1101, 2100, 180_000),
    (2101, 3100, 60_000),
    (3101, 4200, 22_000),
    (4201, 8192, 8_000),
]
# How often each operation, in a turn of twenty batches.
TURN = ["mod_mul"] * 9 + ["mod_product", "mod_segment_product", "reduce"] * 2
TURN += ["mod_exp", "mod_exp_vartime", "mod_exp_fixed", "mod_multi_exp", "mod_inv"]


class Draw:
    """Random limbs, of which one in four is empty or full, and what an engine is given of them."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def values(self, bits, count):
        """`count` numbers below 2^bits."""
        limbs = self.rng.integers(0, 2**64, (count, -(-bits // 64)), np.uint64)
        kinds = self.rng.integers(0, 8, limbs.shape)
        limbs[kinds == 0] = 0
        limbs[kinds == 1] = 2**64 - 1
        limbs[:, -1] >>= np.uint64(-bits % 64)
        return [gmpy2.mpz(value) for value in ints_from_limbs(limbs)]

    def modulus(self, least_bits, most_bits):
        """An odd modulus; every other one is a square whose root is known."""
        bits = int(self.rng.integers(least_bits, most_bits + 1))
        is_square = self.rng.random() < 0.5
        root_bits = bits // 2 if is_square else bits
        value = int(self.values(root_bits, 1)[0]) | 1 | 1 << root_bits - 1
        return Modulus(value * value, root=value) if is_square else Modulus(value)

    def residues(self, modulus, count):
        return [value % modulus.value for value in self.values(modulus.bits, count)]

    def units(self, modulus, count):
        n = modulus.value
        return [value if gcd(value, n) == 1 else gmpy2.mpz(2) for value in self.residues(modulus, count)]


def load(engine, values, modulus):
    return engine.load(limbs_from_ints(values, modulus.limb_count), modulus)


def check_batch(engine, draw, operation, modulus, count):
    """Run one operation for `count` results; fail unless GMP has the same."""
    n = gmpy2.mpz(modulus.value)
    if operation == "mod_mul":
        xs, ys = draw.residues(modulus, count), draw.residues(modulus, count)
        found = engine.mod_mul(load(engine, xs, modulus), load(engine, ys, modulus))
        expected = [x * y % n for x, y in zip(xs, ys, strict=True)]
    elif operation == "reduce":
        xs = draw.values(128 * modulus.limb_count, count)
        found = engine.reduce(limbs_from_ints(xs, 2 * modulus.limb_count), modulus)
        expected = [x % n for x in xs]
    elif operation in ("mod_product", "mod_segment_product"):
        length = int(draw.rng.integers(2, 7))
        xs = draw.residues(modulus, length * count)
        expected = [prod(xs[i::count]) % n for i in range(count)]
        a = load(engine, xs, modulus)
        if operation == "mod_product":
            found = engine.mod_product(engine.reshape(a, (length, count)))
        else:
            found = engine.mod_segment_product(a, np.tile(np.arange(count), length), count)
    elif operation in ("mod_exp", "mod_exp_vartime"):
        xs, es = draw.residues(modulus, count), draw.values(64 if operation == "mod_exp" else 24, count)
        found = getattr(engine, operation)(load(engine, xs, modulus), limbs_from_ints(es, 1))
        expected = [gmpy2.powmod(x, e, n) for x, e in zip(xs, es, strict=True)]
    elif operation == "mod_exp_fixed":
        base, es = draw.residues(modulus, 1)[0], draw.values(80, count)
        table = engine.fixed_base_table(limbs_from_ints([base], modulus.limb_count)[0], modulus, 80, 5)
        found = engine.mod_exp_fixed(table, limbs_from_ints(es, 2))
        expected = [gmpy2.powmod(base, e, n) for e in es]
    elif operation == "mod_multi_exp":
        k = int(draw.rng.integers(1, 5))
        xs, es = draw.units(modulus, k), draw.values(23, k * count)
        negative = draw.rng.integers(0, 2, (k, count)).astype(np.bool_)
        found = engine.mod_multi_exp(load(engine, xs, modulus), limbs_from_ints(es, 1).reshape(k, count, 1), negative)
        signed = [-e if is_negative else e for e, is_negative in zip(es, negative.ravel(), strict=True)]
        expected = [prod(gmpy2.powmod(xs[i], signed[i * count + j], n) for i in range(k)) % n for j in range(count)]
    else:
        xs = draw.units(modulus, count)
        found = engine.mod_inv(load(engine, xs, modulus))
        expected = [gmpy2.invert(x, n) for x in xs]
    wrong = np.flatnonzero((engine.store(found) != limbs_from_ints(expected, modulus.limb_count)).any(axis=-1))
    assert wrong.size == 0, f"{operation}, {modulus!r}: {wrong.size} of {count} differ, first {wrong[0]}"


def test_the_bands_make_a_million():
    assert sum(count for _, _, count in BANDS) == 1_000_000


@pytest.mark.parametrize(("least_bits", "most_bits", "total"), BANDS)
def test_cross_checks(engine, least_bits, most_bits, total):
    # Python's integers against GMP's prove little and take long: a tenth shows that the two agree.
    total = total // 10 if engine.name == "reference" else total
    batch = min(BATCH, total // (2 * len(TURN)))
    counts = Counter()
    for i in range(-(-total // batch)):
        draw = Draw(SEED, least_bits, i)
        operation, count = TURN[i % len(TURN)], min(batch, total - sum(counts.values()))
        check_batch(engine, draw, operation, draw.modulus(least_bits, most_bits), count)
        counts[operation] += count
    assert sum(counts.values()) == total
    assert set(counts) == set(TURN)
    print(f"{engine.name}, seed {SEED}, {least_bits} to {most_bits} bits: {total} results, {dict(counts)}")
