"""The transform of Z_p[X] / (X^N + 1) in Python integers, by halves of even and odd coefficients."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np


def transform(coefficients: list[int], root: int, p: int) -> list[int]:
    """Slot j is the element's value at root^(2 brv(j) + 1); `root` is a primitive 2N-th root of unity mod p.

    Row c of M holds the values of the polynomial with coefficients c, c + M, c + 2 M, ... at the odd powers of root^M.
    Two rows make one by f(x) = even(x^2) + x odd(x^2) and f(-x) = even(x^2) - x odd(x^2).
    """
    rows = np.array(coefficients, object)[:, np.newaxis]
    while len(rows) > 1:
        even, odd = np.split(rows, 2)
        terms = odd * _odd_powers(pow(root, len(even), p), odd.shape[1], p) % p
        # root^N = -1: the powers of the second half are the negatives of the first half's powers.
        rows = np.hstack([(even + terms) % p, (even - terms) % p])
    slots: list[int] = rows[0, _reversed_numbers(len(coefficients))].tolist()
    return slots


def inverse_transform(slots: list[int], root: int, p: int) -> list[int]:
    """The coefficients of the element whose `transform` gives `slots`.

    The rows of `transform` from the last to the first: 2 even = f(x) + f(-x), and 2 odd = (f(x) - f(-x)) / x.
    """
    size = len(slots)
    rows = np.array(slots, object)[np.newaxis, _reversed_numbers(size)]
    while len(rows) < size:
        first, second = np.split(rows, 2, axis=1)
        powers = _odd_powers(pow(root, -len(rows), p), first.shape[1], p)
        rows = np.concatenate([(first + second) % p, (first - second) * powers % p])
    coefficients: list[int] = (rows[:, 0] * pow(size, -1, p) % p).tolist()
    return coefficients


def reverse_bits(j: int, size: int) -> int:
    """The log2(size) bits of j, last first: brv(j)."""
    bits = size.bit_length() - 1
    return int(f"{j:0{bits}b}"[::-1], 2) if bits else 0


@cache
def _reversed_numbers(size: int) -> list[int]:
    """brv(j) for each j below `size`."""
    return [reverse_bits(j, size) for j in range(size)]


# Of a ring of degree N the transforms take 2 log2(N) roots, and a process few rings.
@lru_cache(256)
def _odd_powers(root: int, count: int, p: int) -> Any:
    """root, root^3, root^5, ... mod p: `count` of them."""
    powers, square = [root], root * root % p
    while len(powers) < count:
        powers.append(powers[-1] * square % p)
    return np.array(powers, object)
