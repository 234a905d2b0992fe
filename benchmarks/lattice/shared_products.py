"""What products left in shares are made of, at a split network's sizes, beside the same made of single operations."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.cpu import CpuEngine
from hekat.engine.ring.interface import CBD_BOUND, RingArray
from hekat.scheme.bfv import PRODUCTS

RING = PRODUCTS.parts[0]
KEY = bytes(range(32))
PLAIN_BITS, OPENED_BITS = 20, 60
# Rows, terms, columns of a matrix product of elements, and coefficients of a plaintext: the first product of a batch of
# 1,024 rows with 32 inputs and 32 outputs, both halves of ciphertexts beside each other.
SIZES = ((16, 8, 2, 256),)

Call = Callable[[], npt.NDArray[Any]]


def measure_shared_products(engine: CpuEngine, repeats: int) -> list[dict[str, Any]]:
    """Rows of processor time, medians of `repeats` turns; `times_single`: single operations' time over it, by turn."""
    return [
        _measure(engine, operation, what, count, ours, single, repeats)
        for size in SIZES
        for operation, what, count, ours, single in _cases(engine, *size)
    ]


def _cases(
    engine: CpuEngine, rows: int, terms: int, columns: int, coefficients: int
) -> list[tuple[str, str, int, Call, Call]]:
    """Each operation, what it works on, how many items these are, and the same by single ones or Python's integers."""
    rng, shape = np.random.default_rng(rows), RING.element_shape
    integers = rng.integers(-(1 << PLAIN_BITS), 1 << PLAIN_BITS, (rows * terms, coefficients))
    a = engine.expand_uniform(RING, KEY, 0, rows * terms).reshape(rows, terms, *shape)
    b = engine.expand_uniform(RING, KEY, 1, terms * columns).reshape(terms, columns, *shape)
    sums, pair = b[:, :2], b[0, :2]
    small = rng.integers(-CBD_BOUND, CBD_BOUND, (terms, 3, RING.degree), np.int8, endpoint=True)
    last = rng.integers(0, PRODUCTS.primes[-1], (terms, RING.degree), np.uint64)
    numbers = np.stack([rng.integers(0, p, RING.degree, np.uint64) for p in PRODUCTS.primes], -1)

    def transform_padded() -> RingArray:
        return engine.ring_ntt(RING, residues(np.pad(integers, ((0, 0), (0, RING.degree - coefficients)))))

    def add_products() -> RingArray:
        products = (engine.ring_mul(RING, a[:, i, np.newaxis], b[i]) for i in range(terms))
        total = next(products)
        for one in products:
            total = engine.ring_add(RING, total, one)
        return total

    def refresh() -> RingArray:
        zeros = engine.ring_mul(RING, engine.ring_ntt(RING, residues(small[:, :1])), pair)
        whole = engine.ring_intt(RING, engine.ring_add(RING, sums, zeros))
        return engine.ring_add(RING, whole, residues(small[:, 1:]))

    def drop() -> RingArray:
        prime = PRODUCTS.primes[-1]
        centred = (last + np.uint64(prime >> 1)).astype(np.int64) % prime - (prime >> 1)
        inverses = residues(np.array([pow(prime, -1, RING.modulus)], object))
        return engine.ring_mul(RING, engine.ring_sub(RING, b[:, 0], residues(centred)), spread(inverses))

    def divide() -> RingArray:
        q = PRODUCTS.modulus
        weights = [q // p * pow(q // p, -1, p) for p in PRODUCTS.primes]
        fractions = [(sum(map(int.__mul__, weights, row)) % q << OPENED_BITS) // q for row in numbers.tolist()]
        return np.array([(x, 0) for x in fractions], np.uint64)

    plain, products = f"{rows * terms} plaintexts of {coefficients} coefficients", rows * terms
    matrices = f"{rows} x {terms} by {terms} x {columns} elements"
    ciphertexts, opened = f"{terms} ciphertexts", f"{RING.degree} numbers of {len(PRODUCTS.primes)} primes"
    return [
        ("ring_ntt_integers", plain, products, lambda: engine.ring_ntt_integers(RING, integers), transform_padded),
        ("ring_dot", matrices, products * columns, lambda: engine.ring_dot(RING, a, b), add_products),
        ("ring_refresh", ciphertexts, terms, lambda: engine.ring_refresh(RING, sums, small, pair), refresh),
        (
            "ring_drop_prime",
            f"{terms} elements",
            terms,
            lambda: engine.ring_drop_prime(RING, b[:, 0], last, PRODUCTS.primes[-1]),
            drop,
        ),
        (
            "ring_round",
            f"{opened} to {OPENED_BITS} bits",
            RING.degree,
            lambda: engine.ring_round(PRODUCTS.primes, numbers, OPENED_BITS),
            divide,
        ),
    ]


def residues(values: npt.NDArray[Any]) -> RingArray:
    """Integers (..., count) as residues (..., primes, count)."""
    signed = values[..., np.newaxis, :]
    if values.dtype != object:
        signed = signed.astype(np.int64)
    made: RingArray = (signed % np.array(RING.primes, signed.dtype)[:, np.newaxis]).astype(np.uint64)
    return made


def spread(constants: RingArray) -> RingArray:
    """One residue a prime as every slot of an element."""
    return np.repeat(constants, RING.degree, -1)


def _measure(
    engine: CpuEngine, operation: str, what: str, count: int, ours: Call, single: Call, repeats: int
) -> dict[str, Any]:
    if not np.array_equal(ours(), single()):
        raise SystemExit(f"{operation} ({what}) disagrees with single operations")
    turns = [(_cpu_s(ours), _cpu_s(single)) for _ in range(repeats)]
    seconds = median(one for one, _ in turns)
    return {
        "path": engine.path,
        "operation": operation,
        "what": what,
        "ms": round(seconds * 1e3, 2),
        "us_an_item": round(seconds * 1e6 / count, 3),
        "times_single": round(median(other / one for one, other in turns), 2),
    }


def _cpu_s(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start
