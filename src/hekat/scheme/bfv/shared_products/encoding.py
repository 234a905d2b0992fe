"""Numbers mod t = 2^bits as numbers mod q: x becomes the nearest integer to q x / t, exactly and by residues.

With c = q x mod t, taken from [-t/2, t/2), the nearest integer is (q x - c) / t: mod a prime p of q that is -c / t. So
with u = (q x + t/2) mod t it is 1/2 - u / t mod p, and u comes in words of 32 bits, which are below p. In its place
floor(q / t) x would be off by up to x, which is noise. Nothing here branches on a number or divides one.
Source: Kim, Polyakov and Zucca (ASIACRYPT 2021), on encryption in BFV.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine
from hekat.engine.limbs import LIMB_BITS, limbs_from_ints
from hekat.engine.ring.parameters import STRIDES
from hekat.errors import InputError
from hekat.scheme.bfv.parameters import BfvParameters
from hekat.scheme.bfv.shared_products.residues import Residues, unpack

Numbers = npt.NDArray[np.uint64]
"""Numbers mod 2^bits: uint64 (rows, columns) for up to 64 bits, else with a last axis of two limbs, low one first."""

_WORD_BITS = 32


def encode(parameters: BfvParameters, numbers: Numbers, bits: int, engine: Engine) -> Residues:
    """The nearest integers to q x / t, for numbers in C order."""
    words = _words(parameters, numbers, bits, engine)
    count, degree = words[0].size, parameters.degree
    # A word of ones behind them stands for the half.
    rows = np.zeros((len(words) + 1, -(-count // degree) * degree), np.uint64)
    rows[:, :count] = [*words, np.ones(count, np.uint64)]
    elements = rows.reshape(len(rows), -1, 1, degree)
    sums = []
    for part in parameters.parts:
        factors = np.array([_factors(prime, bits, len(words)) for prime in part.primes], np.uint64).T
        short = np.repeat(factors[np.newaxis, :, :, np.newaxis], degree // STRIDES[-1], axis=-1)
        sums.append(engine.ring_dot(part, short, np.repeat(elements, len(part.primes), axis=2))[0])
    return unpack(tuple(sums), count)


def _factors(prime: int, bits: int, words: int) -> list[int]:
    """What the words, and a one behind them, are multiplied by mod a prime."""
    inverse = pow(1 << bits, -1, prime)
    return [(-inverse << _WORD_BITS * number) % prime for number in range(words)] + [(prime + 1) // 2]


def numbers_of(limbs: npt.NDArray[np.uint64], bits: int, rows: int, columns: int) -> Numbers:
    """Two limbs a number, (rows * columns, 2), as `Numbers`."""
    return limbs.reshape(rows, columns, 2) if bits > LIMB_BITS else limbs[:, 0].reshape(rows, columns)


def negate(numbers: Numbers, bits: int) -> Numbers:
    """Minus the numbers, mod 2^bits."""
    if bits <= LIMB_BITS:
        return -numbers & _mask(bits)
    low, high = numbers[..., 0], numbers[..., 1]
    borrow = (low != 0).astype(np.uint64)
    return np.stack([-low, (-high - borrow) & _mask(bits - LIMB_BITS)], axis=-1)


def take_numbers(values: npt.NDArray[Any], bits: int, shape: tuple[int, int]) -> Numbers:
    """Numbers of a matrix of `shape` from `Numbers`, or from int64 (rows, columns), where a negative one counts mod t.

    Raises InputError for another type or shape.
    """
    wide = bits > LIMB_BITS
    if values.dtype == np.int64 and values.shape == shape:
        low = values.astype(np.uint64)
        return np.stack([low, (values >> (LIMB_BITS - 1)).astype(np.uint64)], axis=-1) if wide else low
    expected = (*shape, 2) if wide else shape
    if values.dtype != np.uint64 or values.shape != expected:
        raise InputError(
            "a matrix refused",
            expected=f"uint64 of shape {expected}, or int64 of shape {shape}",
            got=f"{values.dtype}, shape {values.shape}",
        )
    return values


def _words(parameters: BfvParameters, numbers: Numbers, bits: int, engine: Engine) -> list[Numbers]:
    """The words of (q x + t/2) mod t, least first, each (count,)."""
    half = 1 << (bits - 1)
    if bits <= LIMB_BITS:
        factor = np.uint64(parameters.modulus & (1 << LIMB_BITS) - 1)
        shifted = (numbers.reshape(-1) * factor + np.uint64(half)) & _mask(bits)
        limbs = [shifted]
    else:
        flat = numbers.reshape(-1, 2)
        factors = np.broadcast_to(limbs_from_ints([parameters.modulus % (1 << 2 * LIMB_BITS)], 2), flat.shape)
        product = engine.to_host(engine.int_mul(flat, factors))
        # A half of t has no low limb, and no carry leaves the high one.
        limbs = [product[:, 0], (product[:, 1] + np.uint64(half >> LIMB_BITS)) & _mask(bits - LIMB_BITS)]
    words = [part for limb in limbs for part in (limb & _mask(_WORD_BITS), limb >> np.uint64(_WORD_BITS))]
    return words[: -(-bits // _WORD_BITS)]


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)
