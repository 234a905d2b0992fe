"""The transform of Z_p[X] / (X^N + 1) in Python integers, by halves of even and odd coefficients."""

from __future__ import annotations

from functools import cache, lru_cache


def transform(coefficients: list[int], root: int, p: int) -> list[int]:
    """Slot j is the element's value at root^(2 brv(j) + 1); `root` is a primitive 2N-th root of unity mod p."""
    values = _values_at_odd_powers(coefficients, root, p)
    return [values[k] for k in _reversed_numbers(len(values))]


def inverse_transform(slots: list[int], root: int, p: int) -> list[int]:
    """The coefficients of the element whose `transform` gives `slots`."""
    values = [slots[j] for j in _reversed_numbers(len(slots))]
    return _coefficients_of_values(values, pow(root, -1, p), p)


def reverse_bits(j: int, size: int) -> int:
    """The log2(size) bits of j, last first: brv(j)."""
    bits = size.bit_length() - 1
    return int(f"{j:0{bits}b}"[::-1], 2) if bits else 0


@cache
def _reversed_numbers(size: int) -> list[int]:
    """brv(j) for each j below `size`."""
    return [reverse_bits(j, size) for j in range(size)]


def _values_at_odd_powers(f: list[int], root: int, p: int) -> list[int]:
    """f(root^(2k+1)) for k from 0: f(x) = even(x^2) + x odd(x^2), and f(-x) = even(x^2) - x odd(x^2)."""
    if len(f) == 1:
        return f
    even = _values_at_odd_powers(f[0::2], root * root % p, p)
    odd = _values_at_odd_powers(f[1::2], root * root % p, p)
    terms = [x * o % p for x, o in zip(_odd_powers(root, len(odd), p), odd, strict=True)]
    # root^N = -1: the powers of the second half are the negatives of the first half's powers.
    return [(e + t) % p for e, t in zip(even, terms, strict=True)] + [
        (e - t) % p for e, t in zip(even, terms, strict=True)
    ]


def _coefficients_of_values(values: list[int], inverse_root: int, p: int) -> list[int]:
    """The f of `_values_at_odd_powers`: even = (f(x) + f(-x)) / 2, odd = (f(x) - f(-x)) / 2x."""
    if len(values) == 1:
        return values
    half, half_size = (p + 1) // 2, len(values) // 2
    pairs = list(zip(values[:half_size], values[half_size:], strict=True))
    powers = _odd_powers(inverse_root, half_size, p)
    even = [(v + w) * half % p for v, w in pairs]
    odd = [(v - w) * half * x % p for (v, w), x in zip(pairs, powers, strict=True)]
    f = values.copy()
    f[0::2] = _coefficients_of_values(even, inverse_root * inverse_root % p, p)
    f[1::2] = _coefficients_of_values(odd, inverse_root * inverse_root % p, p)
    return f


# Of a ring of degree N the transforms take 2 log2(N) roots, and a process few rings.
@lru_cache(256)
def _odd_powers(root: int, count: int, p: int) -> list[int]:
    """root, root^3, root^5, ... mod p: `count` of them."""
    powers, square = [root], root * root % p
    while len(powers) < count:
        powers.append(powers[-1] * square % p)
    return powers
