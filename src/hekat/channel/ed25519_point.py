"""Which 32 bytes may be somebody's Ed25519 key: a point of the curve, in its one spelling, of large order.

The library that verifies takes any bytes. Under a point of small order, eight of the curve's, one signature holds for
any message, or for every eighth: a party that pins such a key can be told anything in its name.
Source: RFC 8032, section 5.1; Chalkias, Garillot and Nikolaenko 2020, "Taming the many EdDSAs", section 3.
"""

from __future__ import annotations

from typing import Final

from hekat.errors import KeyRefusedError

_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_1: Final = pow(2, (_P - 1) // 4, _P)
_DOUBLINGS: Final = 3  # 8 P is the neutral element for each point P of small order


def check_ed25519_point(raw: bytes) -> None:
    """Raise KeyRefusedError for bytes that are no such key. For public keys: time depends on them."""
    number = int.from_bytes(raw, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    x = _square_root(y * y - 1, _D * y * y + 1)
    if y >= _P or x is None or (x == 0 and sign):
        raise _refuse("bytes that are no point of the curve")
    z = 1
    for _ in range(_DOUBLINGS):
        x, y, z = _double(x, y, z)
    if x == 0 and y == z:
        raise _refuse("a point of small order, under which signatures prove nothing")


def _square_root(dividend: int, divisor: int) -> int | None:
    """A root of their quotient mod p, p = 5 mod 8; None where there is none. Source: RFC 8032, section 5.1.3."""
    root = dividend * divisor**3 * pow(dividend * divisor**7, (_P - 5) // 8, _P) % _P
    if (divisor * root * root - dividend) % _P:
        root = root * _ROOT_OF_MINUS_1 % _P
    return root if (divisor * root * root - dividend) % _P == 0 else None


def _double(x: int, y: int, z: int) -> tuple[int, int, int]:
    """2 (x/z, y/z) on -x^2 + y^2 = 1 + d x^2 y^2, over one divisor, so that nothing is inverted.

    The sign of x makes no difference to the order. Source: Bernstein, Birkner, Joye, Lange and Peters 2008, "Twisted
    Edwards Curves", section 6.
    """
    squares = y * y - x * x
    others = squares - 2 * z * z
    return 2 * x * y * others % _P, -squares * (x * x + y * y) % _P, squares * others % _P


def _refuse(got: str) -> KeyRefusedError:
    return KeyRefusedError(
        "not a party's public key",
        expected="an Ed25519 key as `hekat keys party` makes it",
        got=got,
        cure="ask its owner for the line that `hekat keys party` prints; do not trust the sender of this one",
    )
