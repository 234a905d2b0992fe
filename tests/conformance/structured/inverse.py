"""Inverses by GMP: Python's own take milliseconds at the sizes of keys, and structured operands need thousands."""

from __future__ import annotations

import gmpy2


def inverse_of(x: int, n: int) -> int:
    """The number in [0, n) whose product with x is 1 mod n; ZeroDivisionError where there is none."""
    return int(gmpy2.invert(x, n))
