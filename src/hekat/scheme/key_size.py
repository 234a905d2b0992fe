"""The allowed sizes of a modulus n = p q, the same for every scheme that rests on secret factors."""

from __future__ import annotations

import warnings
from typing import Final

from hekat.errors import InputError, KeyRefusedError

DEFAULT_KEY_BITS: Final = 3072
MIN_KEY_BITS: Final = 2048


class KeySizeWarning(UserWarning):
    """A key is smaller than the default: still allowed, or made for benchmarks and tests only.

    Examples:
        >>> import warnings
        >>> import hekat
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", hekat.paillier.KeySizeWarning)
        ...     keys = hekat.paillier.generate_keys(2048)
        >>> keys.public.bits
        2048
    """


def is_unsafe(bits: int) -> bool:
    """True for key sizes that protect nothing and are there for benchmarks and tests only."""
    return bits < MIN_KEY_BITS


def unsafe_mark(bits: int) -> str:
    """The mark that a key of that size adds to its own `repr`: empty for an allowed size."""
    return ", UNSAFE: for benchmarks and tests only" if is_unsafe(bits) else ""


def check_new_key_size(
    scheme: str, bits: int, smallest_bits: int, largest_bits: int, unsafe_for_benchmark: bool
) -> None:
    """Raise InputError or KeyRefusedError unless a key of `bits` bits may be made; warn below the default size.

    Call it two levels below the user's call, so that the warning names the user's own line.
    """
    if isinstance(bits, bool) or not isinstance(bits, int):
        raise InputError("key size refused", expected="a number of bits", got=f"a {type(bits).__name__}")
    if bits < smallest_bits or bits > largest_bits or bits % 2:
        raise KeyRefusedError(
            "key size refused",
            expected=f"an even number of bits from {MIN_KEY_BITS} to {largest_bits}",
            got=f"{bits} bits",
            cure=f"use {DEFAULT_KEY_BITS}",
        )
    if is_unsafe(bits) and not unsafe_for_benchmark:
        raise KeyRefusedError(
            "key is too small to protect anything",
            expected=f"at least {MIN_KEY_BITS} bits",
            got=f"{bits} bits",
            cure=f"use {DEFAULT_KEY_BITS} bits; unsafe_for_benchmark=True allows it where no real data is involved",
        )
    if bits < DEFAULT_KEY_BITS:
        strength = "no protection, for benchmarks and tests only" if is_unsafe(bits) else "about 112-bit security"
        warnings.warn(
            f"{scheme} key of {bits} bits: {strength}; {DEFAULT_KEY_BITS} bits give 128-bit security",
            KeySizeWarning,
            stacklevel=4,
        )


def check_key_strength(bits: int, fingerprint: str, unsafe_for_benchmark: bool) -> None:
    """Raise KeyRefusedError for a key from elsewhere that is below the allowed size."""
    if is_unsafe(bits) and not unsafe_for_benchmark:
        raise KeyRefusedError(
            f"key {fingerprint} is too small to protect anything",
            expected=f"at least {MIN_KEY_BITS} bits",
            got=f"{bits} bits",
            cure=f"ask its owner for a key of {DEFAULT_KEY_BITS} bits",
        )
