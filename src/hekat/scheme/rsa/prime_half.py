"""The constants that a private key precomputes for each prime: all that a power with the secret exponent needs mod p.

Written for p; the half of q is the same with p and q exchanged.
"""

from __future__ import annotations

from typing import Final, NoReturn

from hekat.engine.interface import Modulus
from hekat.engine.limbs import limbs_for_bits, limbs_from_ints
from hekat.errors import KeyRefusedError


class PrimeHalf:
    """Constants of the prime p of a key n = p q, as canonical limbs; prints none of them.

    exponent        dP = e^-1 mod p-1
    join_constant   q^-1 mod p: maps x mod p to its part in the basis (q, p) mod n
    other           q
    """

    __slots__ = ("exponent", "join_constant", "modulus", "other")

    def __init__(self, p: int, q: int, e: int) -> None:
        limb_count = limbs_for_bits(p.bit_length())
        self.modulus: Final = Modulus(p)
        self.exponent: Final = limbs_from_ints([pow(e, -1, p - 1)], limb_count)
        self.join_constant: Final = limbs_from_ints([pow(q, -1, p)], limb_count)
        self.other: Final = limbs_from_ints([q], limbs_for_bits(q.bit_length()))

    def __repr__(self) -> str:
        return f"PrimeHalf({self.modulus.bits} bits)"

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError("private keys are not pickled", cure="make a fresh key where it is used")
