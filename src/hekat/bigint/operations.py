"""add, sub, mul, div and mod of big-integer arrays, shapes broadcast as in NumPy.

Each takes BigIntArrays, Python ints, nested lists of ints or integer ndarrays, and raises InputError for anything
else and for shapes that do not broadcast. Source: FLBooster (ICDE 2023), Table I.
"""

from __future__ import annotations

from typing import Any

from hekat.bigint.big_int_array import BigIntArray


def add(a: Any, b: Any) -> BigIntArray:
    """a + b.

    Args:
        a: Integers, as `array` takes them.
        b: Integers whose shape broadcasts with the shape of a.

    Returns:
        The sums, in the common shape.

    Examples:
        >>> import hekat
        >>> hekat.bigint.add([2**64, 1], 1).tolist()
        [18446744073709551617, 2]
    """
    return BigIntArray(a) + BigIntArray(b)


def sub(a: Any, b: Any) -> BigIntArray:
    """a - b.

    Args:
        a: Integers, as `array` takes them.
        b: Integers whose shape broadcasts with the shape of a.

    Returns:
        The differences, in the common shape.

    Examples:
        >>> import hekat
        >>> hekat.bigint.sub(2**64, [1, 2**64]).tolist()
        [18446744073709551615, 0]
    """
    return BigIntArray(a) - BigIntArray(b)


def mul(a: Any, b: Any) -> BigIntArray:
    """a * b.

    Args:
        a: Integers, as `array` takes them.
        b: Integers whose shape broadcasts with the shape of a.

    Returns:
        The products, in the common shape.

    Examples:
        >>> import hekat
        >>> hekat.bigint.mul([2**40, -3], 2**30).tolist()
        [1180591620717411303424, -3221225472]
    """
    return BigIntArray(a) * BigIntArray(b)


def div(a: Any, b: Any) -> BigIntArray:
    """a // b, rounded towards minus infinity as in Python.

    Args:
        a: Integers, as `array` takes them.
        b: Integers whose shape broadcasts with the shape of a; none is 0.

    Returns:
        The quotients, in the common shape.

    Raises:
        InputError: A divisor is 0; the message names its index.

    Examples:
        >>> import hekat
        >>> hekat.bigint.div([2**70, -7], 2).tolist()
        [590295810358705651712, -4]
    """
    return BigIntArray(a) // BigIntArray(b)


def mod(a: Any, b: Any) -> BigIntArray:
    """a % b, with the sign of b as in Python; b may be odd or even.

    Args:
        a: Integers, as `array` takes them.
        b: Integers whose shape broadcasts with the shape of a; none is 0.

    Returns:
        The remainders, in the common shape.

    Raises:
        InputError: A divisor is 0; the message names its index.

    Examples:
        >>> import hekat
        >>> hekat.bigint.mod([2**70, -7], 10).tolist()
        [4, 3]
    """
    return BigIntArray(a) % BigIntArray(b)
