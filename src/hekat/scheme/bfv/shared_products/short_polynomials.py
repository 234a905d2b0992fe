"""Polynomials in Y = X^s: their transform is a transform of N / s coefficients, whose slots stand s times each.

Slot j of an element has the value at psi^(2 brv(j) + 1), where brv reverses the bits of j. So a polynomial in Y has its
value at w^(2 brv(j) + 1) there, w = psi^s, and w has order 2 N / s: that depends on the upper bits of j alone, and is
slot floor(j / s) of a transform of degree N / s with the root w. Rings take the smallest root, which is w^e for an odd
e; so its slots are put in the order of the powers of w.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import IndexArray
from hekat.engine.ring.interface import RingArray, RingEngine
from hekat.engine.ring.parameters import Ring


def transform_short(ring: Ring, coefficients: npt.NDArray[np.int64], stride: int, engine: RingEngine) -> RingArray:
    """Integers, the first coefficients (..., n) of polynomials in X^stride, transformed: (..., primes, N / stride)."""
    own = engine.ring_ntt_integers(short_ring(ring, stride), coefficients)
    return own if stride == 1 else np.take_along_axis(own, _slots(ring, stride, own.ndim), axis=-1)


def _slots(ring: Ring, stride: int, dimensions: int) -> IndexArray:
    order = short_slots(ring, stride)
    return order.reshape((1,) * (dimensions - 2) + order.shape)


def spread_slots(elements: RingArray, stride: int) -> RingArray:
    """Elements (I, J, primes, N) as (I, J stride, primes, N / stride), to multiply short polynomials slot by slot."""
    if stride == 1:
        return elements
    i, j, primes, degree = elements.shape
    cut = elements.reshape(i, j, primes, degree // stride, stride).transpose(0, 1, 4, 2, 3)
    return np.ascontiguousarray(cut).reshape(i, j * stride, primes, -1)


def gather_slots(spread: RingArray, stride: int) -> RingArray:
    """What `spread_slots` has spread, put together again."""
    if stride == 1:
        return spread
    i, j, primes, degree = spread.shape
    cut = spread.reshape(i, j // stride, stride, primes, degree).transpose(0, 1, 3, 4, 2)
    return np.ascontiguousarray(cut).reshape(i, j // stride, primes, -1)


@lru_cache(maxsize=32)
def short_ring(ring: Ring, stride: int) -> Ring:
    """The ring of degree N / stride with the same primes."""
    return ring if stride == 1 else Ring(ring.degree // stride, ring.primes)


@lru_cache(maxsize=32)
def short_slots(ring: Ring, stride: int) -> IndexArray:
    """For each prime, which slot of `short_ring` has the value of slots s j to s j + s - 1: (primes, N / stride)."""
    short = short_ring(ring, stride)
    degree = short.degree
    bits = degree.bit_length() - 1
    reversed_bits = np.array([int(f"{j:0{bits}b}"[::-1], 2) if bits else 0 for j in range(degree)])
    orders = []
    for prime, root, own_root in zip(ring.primes, ring.roots, short.roots, strict=True):
        w, exponent, power = pow(root, stride, prime), 1, pow(root, stride, prime)
        while power != own_root:
            power, exponent = power * w % prime * w % prime, exponent + 2
        # own_root^(2 brv(j') + 1) is w^(2 brv(j) + 1).
        wanted = (2 * reversed_bits + 1) * pow(exponent, -1, 2 * degree) % (2 * degree)
        orders.append(reversed_bits[(wanted - 1) // 2])
    order = np.stack(orders)
    order.flags.writeable = False
    return order
