"""Arithmetic of OpenSSL's BN library on Python integers, which pass as hexadecimal text; Python computes nothing."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable

CRYPTO = ctypes.CDLL(ctypes.util.find_library("crypto"))
for name in ("BN_new", "BN_CTX_new", "BN_mod_inverse"):
    getattr(CRYPTO, name).restype = ctypes.c_void_p
CRYPTO.BN_bn2hex.restype = ctypes.c_void_p
CRYPTO.OpenSSL_version.restype = ctypes.c_char_p
CONTEXT = ctypes.c_void_p(CRYPTO.BN_CTX_new())


def version() -> str:
    """As OpenSSL tells it, with the functions used here."""
    text: bytes = CRYPTO.OpenSSL_version(0)
    return f"{text.decode()}: BN_mod_mul, BN_mod_exp, BN_mod_inverse, BN_nnmod, BN_add, BN_sub, BN_mul, BN_div"


def number(value: int) -> ctypes.c_void_p:
    held = ctypes.c_void_p(CRYPTO.BN_new())
    assert CRYPTO.BN_hex2bn(ctypes.byref(held), f"{value:x}".encode())
    return held


def integer(held: ctypes.c_void_p) -> int:
    text = ctypes.c_void_p(CRYPTO.BN_bn2hex(held))
    value = int(ctypes.string_at(text), 16)
    CRYPTO.CRYPTO_free(text, b"", 0)
    return value


def call(function: Callable[..., int], result_count: int, *values: int, context: bool = True) -> list[int]:
    """The first `result_count` arguments after function(results..., values..., context)."""
    held = [number(0) for _ in range(result_count)] + [number(value) for value in values]
    try:
        assert function(*held, *([CONTEXT] if context else [])), "OpenSSL refused"
        return [integer(x) for x in held[:result_count]]
    finally:
        for x in held:
            CRYPTO.BN_free(x)


def mod_mul(a: int, b: int, n: int) -> int:
    return call(CRYPTO.BN_mod_mul, 1, a, b, n)[0]


def mod_exp(a: int, e: int, n: int) -> int:
    """a^e mod n; a negative exponent is that of the inverse."""
    return call(CRYPTO.BN_mod_exp, 1, a if e >= 0 else mod_inverse(a, n), abs(e), n)[0]


def has_inverse(a: int, n: int) -> bool:
    return call(CRYPTO.BN_gcd, 1, a, n)[0] == 1


def mod_inverse(a: int, n: int) -> int:
    return call(CRYPTO.BN_mod_inverse, 1, a, n)[0]


def remainder(a: int, n: int) -> int:
    return call(CRYPTO.BN_nnmod, 1, a, n)[0]


def add(a: int, b: int) -> int:
    return call(CRYPTO.BN_add, 1, a, b, context=False)[0]


def subtract(a: int, b: int) -> int:
    return call(CRYPTO.BN_sub, 1, a, b, context=False)[0]


def multiply(a: int, b: int) -> int:
    return call(CRYPTO.BN_mul, 1, a, b)[0]


def divide(a: int, b: int) -> tuple[int, int]:
    quotient, rest = call(CRYPTO.BN_div, 2, a, b)
    return quotient, rest
