"""The constants that a private key precomputes for each prime: all that decryption and `crt` randomisers need mod p and
p^2.

Written for p; the half of q is the same with p and q exchanged.
"""

from __future__ import annotations

import secrets
from functools import partial
from typing import Final, NoReturn

import gmpy2

from hekat.engine.interface import Engine, FixedBaseTable, Modulus, ResidueArray
from hekat.engine.limbs import LimbArray, limbs_for_bits, limbs_from_ints
from hekat.errors import KeyRefusedError
from hekat.scheme.paillier.keys.per_engine import PerEngine
from hekat.scheme.paillier.keys.table_cache import TableCache

# Nobody may guess the blinding; unlike a randomiser it need not be uniform.
BLINDING_BITS: Final = 128


class PrimeHalf:
    """Constants of the prime p of a key n = p q, as canonical limbs; prints none of them.

    exponent        p - 1, which takes r^n to 1 mod p^2
    exact_inverse   p^-1 mod 2^(64 k): turns the exact division by p into one product of k limbs
    """

    __slots__ = (
        "_base",
        "_blinding_tables",
        "_join_constant",
        "_join_constants",
        "_plain_constant",
        "_plain_constants",
        "_randomiser_tables",
        "exact_inverse",
        "exponent",
        "modulus",
        "other",
        "other_squared",
        "square",
    )

    def __init__(self, p: int, q: int) -> None:
        limb_count = limbs_for_bits(p.bit_length())
        self.modulus: Final = Modulus(p)
        self.square: Final = Modulus(p * p, root=p)
        self.other: Final = _limbs(q)
        self.other_squared: Final = _limbs(q * q)
        self.exponent: Final = limbs_from_ints([p - 1], limb_count)
        self.exact_inverse: Final = limbs_from_ints([pow(p, -1, 1 << (64 * limb_count))], limb_count)
        # c^(p-1) = (1 + n m (p-1)) = 1 + p (-q m) mod p^2, so L = -q m mod p; one more q^-1 belongs to the basis.
        self._plain_constant = limbs_from_ints([-pow(q, -2, p) % p], limb_count)
        self._join_constant = limbs_from_ints([pow(q, -2, p * p)], self.square.limb_count)
        # powmod_sec takes time that follows from sizes alone, and a fifth of pow's.
        base = int(gmpy2.powmod_sec(_random_generator(p), p, p * p))
        self._base = limbs_from_ints([base], self.square.limb_count)[0]
        self._randomiser_tables: Final = TableCache()
        self._blinding_tables: Final = TableCache()
        self._plain_constants: Final = PerEngine()
        self._join_constants: Final = PerEngine()

    @property
    def limb_count(self) -> int:
        """Limbs of p."""
        return self.modulus.limb_count

    def plain_constant(self, engine: Engine) -> ResidueArray:
        """Maps L = (c^(p-1) mod p^2 - 1) / p to its part of m in the basis (q, p) mod n; loaded once per engine."""
        return self._plain_constants.get(engine, partial(engine.load, self._plain_constant, self.modulus))

    def join_constant(self, engine: Engine) -> ResidueArray:
        """q^-2 mod p^2: maps x mod p^2 to its part in the basis (q^2, p^2) mod n^2; loaded once per engine."""
        return self._join_constants.get(engine, partial(engine.load, self._join_constant, self.square))

    def randomiser_table(self, engine: Engine, uses: int = 1) -> FixedBaseTable:
        """The table of g_p = gamma^p mod p^2, which has order p - 1: for the engine's tenancy and `uses` powers."""
        make = partial(self._make_table, engine, self.modulus.bits, uses=uses, constant_time=not engine.single_tenant)
        return self._randomiser_tables.get(engine, make, uses)

    def blinding_table(self, engine: Engine) -> FixedBaseTable:
        """The table of g_p for exponents of BLINDING_BITS bits, always constant-time."""
        make = partial(self._make_table, engine, BLINDING_BITS, constant_time=True)
        return self._blinding_tables.get(engine, make)

    def _make_table(
        self, engine: Engine, exponent_bits: int, *, uses: int | None = None, constant_time: bool
    ) -> FixedBaseTable:
        return engine.fixed_base_table(self._base, self.square, exponent_bits, uses=uses, constant_time=constant_time)

    def __repr__(self) -> str:
        return f"PrimeHalf({self.modulus.bits} bits)"

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError("private keys are not pickled", cure="use hekat.wire.keyfile.save_private_key")


def _limbs(value: int) -> LimbArray:
    return limbs_from_ints([value], limbs_for_bits(value.bit_length()))


def _random_generator(p: int) -> int:
    """A random generator of the units mod p >= 5, which `is_key_prime`; as secret as p.

    The unit group has order p - 1, twice a product of large primes. An element that is neither a square nor -1 has the
    whole order, but for odds of the sum of 1/a over these primes a, below 2^-250 in a key that `generate_keys` makes of
    2048 bits or more. Not the least one: with gamma known, one exponent gives p, because c = gamma^a mod p makes p a
    factor of gcd(gamma^a - c, n).
    """
    while True:
        gamma = secrets.randbelow(p)
        if gamma != p - 1 and gmpy2.jacobi(gamma, p) == -1:
            return gamma
