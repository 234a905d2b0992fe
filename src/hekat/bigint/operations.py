"""add, sub, mul, div and mod of big-integer arrays, shapes broadcast as in NumPy.

Each takes BigIntArrays, Python ints, nested lists of ints or integer ndarrays, and raises InputError for anything
else and for shapes that do not broadcast. Source: FLBooster (ICDE 2023), Table I.
"""

from __future__ import annotations

from typing import Any

from hekat.bigint.big_int_array import BigIntArray


def add(a: Any, b: Any) -> BigIntArray:
    """a + b."""
    return BigIntArray(a) + BigIntArray(b)


def sub(a: Any, b: Any) -> BigIntArray:
    """a - b."""
    return BigIntArray(a) - BigIntArray(b)


def mul(a: Any, b: Any) -> BigIntArray:
    """a * b."""
    return BigIntArray(a) * BigIntArray(b)


def div(a: Any, b: Any) -> BigIntArray:
    """a // b, rounded towards minus infinity as in Python. Raises InputError naming the index of a zero divisor."""
    return BigIntArray(a) // BigIntArray(b)


def mod(a: Any, b: Any) -> BigIntArray:
    """a % b, with the sign of b as in Python; b of any parity, one or one for each a.

    Raises InputError naming the index of a zero divisor.
    """
    return BigIntArray(a) % BigIntArray(b)
