"""mod_mul, mod_pow and mod_inv of big-integer arrays under one public modulus, odd or even."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from hekat.bigint import signed
from hekat.bigint.big_int_array import BigIntArray
from hekat.bigint.even_modulus import inverse_mod_two_to, join_residues, power_mod_two_to
from hekat.bigint.signed import Signed, make_signed
from hekat.engine.checks import broadcast_shape
from hekat.engine.interface import MAX_MODULUS_BITS, BoolArray, Engine, Modulus, ResidueArray
from hekat.engine.limbs import LimbArray, widen
from hekat.engine.scheduler import DEFAULT_CHUNK_COUNT, Progress, Scheduler
from hekat.engine.select import get_engine
from hekat.errors import InputError

# A chunk this small still gives every thread of an engine a few powers to do.
MIN_CHUNK_COUNT_OF_POWERS = 32


def mod_mul(a: Any, b: Any, modulus: Any) -> BigIntArray:
    """a * b mod modulus.

    Args:
        a: Integers, as `array` takes them.
        b: Integers whose shape broadcasts with the shape of a.
        modulus: One integer >= 1, odd or even.

    Returns:
        Integers in [0, modulus), in the common shape.

    Raises:
        InputError: The modulus is below 1, or the shapes do not broadcast.

    Examples:
        >>> import hekat
        >>> hekat.bigint.mod_mul([2**64, 3], 5, 97).tolist()
        [14, 15]
    """
    left, right, n = BigIntArray(a), BigIntArray(b), _modulus(modulus)
    if n % 2 == 0 or n.bit_length() > MAX_MODULUS_BITS or n == 1:
        return (left * right) % n
    engine, odd = get_engine(), Modulus(n)
    product = engine.mod_mul(_residues(engine, left.signed, odd), _residues(engine, right.signed, odd))
    return _unsigned(engine.store(product))


def mod_pow(a: Any, exponents: Any, modulus: Any, *, progress: Progress | None = None) -> BigIntArray:
    """a^e mod modulus, as Python's three-argument pow: 0^0 = 1, and a negative exponent powers the inverse.

    Under an odd modulus the time depends on sizes alone, not on the exponents' values.

    Args:
        a: Integers, as `array` takes them.
        exponents: Integers whose shape broadcasts with the shape of a.
        modulus: One integer >= 1, odd or even, its odd part at most 16384 bits.
        progress: Called as `progress(done, total)` between chunks.

    Returns:
        Integers in [0, modulus), in the common shape.

    Raises:
        InputError: A power has no inverse, the modulus is out of range, or the shapes do not broadcast.

    Examples:
        >>> import hekat
        >>> hekat.bigint.mod_pow([3, 5], [2**70, -1], 97).tolist() == [pow(3, 2**70, 97), pow(5, -1, 97)]
        True
    """
    n = _modulus(modulus)
    bases, powers = BigIntArray(a).signed, BigIntArray(exponents).signed
    shape = broadcast_shape(bases.shape, powers.shape)
    bases, powers = signed.broadcast(bases, shape), signed.broadcast(powers, shape)
    if powers.negative.any():
        bases = _invert_where(bases, powers.negative, n)
    odd_part, two_bits = _split(n)
    engine = get_engine()
    odd = _zero(shape)
    if odd_part > 1:
        odd = _powers_under_odd(engine, bases, powers.magnitude, Modulus(odd_part), progress)
    if two_bits == 0:
        return BigIntArray.from_signed(odd)
    two = power_mod_two_to(engine, bases, powers.magnitude, two_bits)
    return BigIntArray.from_signed(join_residues(engine, odd, odd_part, two, two_bits))


def mod_inv(a: Any, modulus: Any) -> BigIntArray:
    """The inverses of a mod modulus.

    Args:
        a: Integers, as `array` takes them.
        modulus: One integer >= 1, odd or even, its odd part at most 16384 bits.

    Returns:
        Integers in [0, modulus), in the shape of a.

    Raises:
        InputError: An integer has no inverse; the message names its index.

    Examples:
        >>> import hekat
        >>> hekat.bigint.mod_inv([3, 5], 2**8).tolist()
        [171, 205]
    """
    return BigIntArray.from_signed(_inverses(BigIntArray(a).signed, _modulus(modulus)))


def _inverses(a: Signed, n: int) -> Signed:
    odd_part, two_bits = _split(n)
    engine = get_engine()
    odd = _zero(a.shape)
    if odd_part > 1:
        limbs = engine.store(engine.mod_inv(_residues(engine, a, Modulus(odd_part))))
        odd = make_signed(limbs, np.zeros(a.shape, np.bool_))
    if two_bits == 0:
        return odd
    return join_residues(engine, odd, odd_part, inverse_mod_two_to(engine, a, two_bits), two_bits)


def _invert_where(bases: Signed, wanted: BoolArray, n: int) -> Signed:
    """`bases`, inverted mod n where `wanted`; an index in an error counts in the whole array."""
    one = make_signed(np.ones((*bases.shape, 1), np.uint64), np.zeros(bases.shape, np.bool_))
    inverses = _inverses(_choose(wanted, bases, one), n)
    return _choose(wanted, inverses, bases)


def _choose(where: BoolArray, a: Signed, b: Signed) -> Signed:
    limb_count = max(a.magnitude.shape[-1], b.magnitude.shape[-1])
    left, right = widen(a.magnitude, limb_count), widen(b.magnitude, limb_count)
    return make_signed(np.where(where[..., None], left, right), np.where(where, a.negative, b.negative))


def _powers_under_odd(
    engine: Engine, bases: Signed, exponents: LimbArray, modulus: Modulus, progress: Progress | None
) -> Signed:
    """Powers in chunks, so that a long batch shows progress and can be interrupted."""
    shape, count = bases.shape, prod(bases.shape)
    flat_bases = Signed(bases.magnitude.reshape(count, bases.magnitude.shape[-1]), bases.negative.reshape(count))
    flat_exponents = exponents.reshape(count, exponents.shape[-1])

    def power_chunk(engine: Engine, chunk: slice) -> LimbArray:
        part = Signed(flat_bases.magnitude[chunk], flat_bases.negative[chunk])
        return engine.store(engine.mod_exp(_residues(engine, part, modulus), flat_exponents[chunk]))

    chunk_count = max(1, min(DEFAULT_CHUNK_COUNT, count // MIN_CHUNK_COUNT_OF_POWERS))
    limbs = Scheduler([engine], chunk_count).run(power_chunk, count, progress)
    return make_signed(limbs.reshape(*shape, modulus.limb_count), np.zeros(shape, np.bool_))


def _residues(engine: Engine, a: Signed, modulus: Modulus) -> ResidueArray:
    """Signed integers of any width in the engine, mod an odd modulus."""
    if a.magnitude.shape[-1] <= 2 * modulus.limb_count and not a.negative.any():
        return engine.reduce(a.magnitude, modulus)
    n = make_signed(modulus.limbs, np.zeros((), np.bool_))
    return engine.load(signed.floor_divmod(engine, a, n)[1].magnitude, modulus)


def _modulus(modulus: Any) -> int:
    values = BigIntArray(modulus)
    if values.size != 1 or int(values) < 1:
        raise InputError(
            "modulus refused",
            expected="one integer >= 1",
            got=f"shape {values.shape}" if values.size != 1 else "one below 1",
            cure="use % for a modulus of each element or a negative one",
        )
    return int(values)


def _split(n: int) -> tuple[int, int]:
    """(t, s) with n = t * 2^s and t odd."""
    two_bits = (n & -n).bit_length() - 1
    return n >> two_bits, two_bits


def _zero(shape: tuple[int, ...]) -> Signed:
    return Signed(np.zeros((*shape, 1), np.uint64), np.zeros(shape, np.bool_))


def _unsigned(limbs: LimbArray) -> BigIntArray:
    return BigIntArray.from_signed(make_signed(limbs, np.zeros(limbs.shape[:-1], np.bool_)))
