"""add, sub, mul, div and mod of big-integer arrays, shapes broadcast as in NumPy.

Each takes BigIntArrays, Python ints, nested lists of ints or integer ndarrays, and raises InputError for anything
else and for shapes that do not broadcast. Source: FLBooster (ICDE 2023), Table I.
"""

from __future__ import annotations

from typing import Any

from hekat.bigint.big_int_array import BigIntArray


def add(a: Any, b: Any) -> BigIntArray:
    """a + b, element by element.

    Args:
        a: integers, as `array` takes them.
        b: integers whose shape broadcasts with that of `a`.

    Returns:
        The sums.

    Raises:
        InputError: shapes that do not broadcast, or what are no integers.

    Examples:
        >>> bigint.add([2**70, 1], 1).tolist()
        [1180591620717411303425, 2]
    """
    return BigIntArray(a) + BigIntArray(b)


def sub(a: Any, b: Any) -> BigIntArray:
    """a - b, element by element.

    Args:
        a: integers, as `array` takes them.
        b: integers whose shape broadcasts with that of `a`.

    Returns:
        The differences.

    Raises:
        InputError: shapes that do not broadcast, or what are no integers.

    Examples:
        >>> bigint.sub([5, 1], [2, 2**70]).tolist()
        [3, -1180591620717411303423]
    """
    return BigIntArray(a) - BigIntArray(b)


def mul(a: Any, b: Any) -> BigIntArray:
    """a * b, element by element.

    Args:
        a: integers, as `array` takes them.
        b: integers whose shape broadcasts with that of `a`.

    Returns:
        The products.

    Raises:
        InputError: shapes that do not broadcast, or what are no integers.

    Examples:
        >>> bigint.mul([2**40, -3], 2**40).tolist()
        [1208925819614629174706176, -3298534883328]
    """
    return BigIntArray(a) * BigIntArray(b)


def div(a: Any, b: Any) -> BigIntArray:
    """a // b, rounded towards minus infinity as in Python.

    Args:
        a: integers, as `array` takes them.
        b: divisors whose shape broadcasts with that of `a`.

    Returns:
        The quotients.

    Raises:
        InputError: a zero divisor, by its index; shapes that do not broadcast.

    Examples:
        >>> bigint.div([7, -7], 2).tolist()
        [3, -4]
    """
    return BigIntArray(a) // BigIntArray(b)


def mod(a: Any, b: Any) -> BigIntArray:
    """a % b, with the sign of b as in Python.

    Args:
        a: integers, as `array` takes them.
        b: divisors of any parity, one or one for each a.

    Returns:
        The remainders.

    Raises:
        InputError: a zero divisor, by its index; shapes that do not broadcast.

    Examples:
        >>> bigint.mod([7, -7], 4).tolist()
        [3, 1]
    """
    return BigIntArray(a) % BigIntArray(b)
