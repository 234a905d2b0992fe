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
        values: an int, nested lists of ints, or an integer ndarray; integers of any size and sign.

    Returns:
        The array, in the shape of `values`.

    Raises:
        InputError: floats, booleans, text, and ragged lists.

    Examples:
        >>> bigint.array([2**100, -1]).tolist()
        [1267650600228229401496703205376, -1]
    """
    return BigIntArray(values)
