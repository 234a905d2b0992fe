"""Arrays of Paillier ciphertexts under one public key, held by one engine."""

from __future__ import annotations

from collections.abc import Sequence

import gmpy2

from hekat.engine.interface import Engine
from hekat.engine.limbs import LimbArray, ints_from_limbs
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.keyed_residues import KeyedResidues
from hekat.scheme.paillier.keys.key_pair import PublicKey, check_same_key


class Ciphertexts(KeyedResidues[PublicKey]):
    """Residues mod n^2 of `public`, in any shape. They never print their values, which only the private key opens."""

    def __post_init__(self) -> None:
        if self.residues.modulus is not self.public.n_squared:
            raise InputError(
                "residues are not ciphertexts of this key",
                expected="residues modulo the key's own n_squared",
                got=repr(self.residues),
                cure="load them with Ciphertexts.from_limbs(public, limbs)",
            )

    @classmethod
    def from_limbs(cls, public: PublicKey, limbs: LimbArray, engine: Engine | None = None) -> Ciphertexts:
        """Ciphertexts from canonical limbs of shape (..., limbs). Raises InputError for 0 and for n^2 or more.

        Check limbs from another party with `are_units` too.
        """
        engine = engine or get_engine()
        residues = engine.load(limbs, public.n_squared)
        if not limbs.any(axis=-1).all():
            raise InputError("a ciphertext is 0", expected="values from 1 to n^2 - 1", cure="ask the sender again")
        return cls(public, residues)

    @classmethod
    def concatenate(cls, arrays: Sequence[Ciphertexts]) -> Ciphertexts:
        """Joined along the first axis. Raises InputError for none, KeyRefusedError for different keys."""
        if not arrays:
            raise InputError("nothing to concatenate", expected="at least one array of ciphertexts", got="none")
        for other in arrays:
            check_same_key(arrays[0].public, other.public)
        engine = arrays[0].engine
        return cls(arrays[0].public, engine.concatenate([array.residues for array in arrays]))

    def are_units(self) -> bool:
        """Whether all are units mod n, as encryptions and results computed on them are; costs one product for each.

        A holder of p could send a multiple of p instead: the power of p that divides a result would then reveal by what
        number somebody multiplied it.
        """
        product = self.engine.mod_product(self.engine.reshape(self.residues, (self.size,)))
        (value,) = ints_from_limbs(self.engine.store(product))
        return bool(gmpy2.gcd(value, self.public.n) == 1)
