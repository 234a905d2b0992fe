"""Arrays of multi-precision integers: `hekat.bigint.array([2**100, -3]) * 7`, computed by the selected engine."""

from __future__ import annotations

from typing import Any

from hekat.bigint.big_int_array import BigIntArray
from hekat.bigint.modular import mod_inv, mod_mul, mod_pow
from hekat.bigint.operations import add, div, mod, mul, sub

__all__ = ["BigIntArray", "add", "array", "div", "mod", "mod_inv", "mod_mul", "mod_pow", "mul", "sub"]


def array(values: Any) -> BigIntArray:
    """The integers of `values` as a BigIntArray.

    Args:
        values: An int, nested lists of ints, or an integer ndarray.

    Returns:
        An array of the same shape.

    Raises:
        InputError: `values` holds floats, booleans or text, or is ragged.

    Examples:
        >>> import hekat
        >>> hekat.bigint.array([[2**64, -1]]).shape
        (1, 2)
    """
    return BigIntArray(values)
