"""Arrays of Paillier ciphertexts under one public key, held by one engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hekat.engine.interface import Engine, IndexArray, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.paillier.keys import PublicKey, check_same_key


@dataclass(frozen=True, eq=False)
class Ciphertexts:
    """Residues mod n^2 of `public`, in any shape. What they hold is not known here, and so never printed."""

    public: PublicKey
    residues: ResidueArray

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
        """Ciphertexts from canonical limbs of shape (..., limbs). Raises InputError for 0 and for n^2 or more."""
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

    @property
    def engine(self) -> Engine:
        """The engine that holds them."""
        return self.residues.engine

    @property
    def shape(self) -> tuple[int, ...]:
        return self.residues.shape

    @property
    def size(self) -> int:
        """How many ciphertexts there are."""
        return self.residues.size

    def to_limbs(self) -> LimbArray:
        """The ciphertexts as canonical limbs, shape (*shape, limbs)."""
        return self.engine.store(self.residues)

    def reshape(self, *shape: int | tuple[int, ...]) -> Ciphertexts:
        """The same ciphertexts in C order under another shape of equal size; one length may be -1."""
        positions = self._positions()
        try:
            wanted = positions.reshape(*shape).shape  # type: ignore[arg-type]
        except (ValueError, TypeError):
            raise InputError(
                "reshape refused", expected=f"a shape of {self.size} ciphertexts", got=str(shape)
            ) from None
        return Ciphertexts(self.public, self.engine.reshape(self.residues, wanted))

    def take(self, indices: IndexArray) -> Ciphertexts:
        """The ciphertexts at flat (C order) int64 `indices`, in the shape of `indices`."""
        return Ciphertexts(self.public, self.engine.take(self.residues, indices))

    def __len__(self) -> int:
        return len(self.residues)

    def __getitem__(self, key: Any) -> Ciphertexts:
        """As NumPy indexes. Raises IndexError as NumPy does."""
        return self.take(np.asarray(self._positions()[key], dtype=np.int64))

    def __repr__(self) -> str:
        return f"Ciphertexts(shape {self.shape}, engine {self.engine.name}, {self.public!r})"

    def _positions(self) -> IndexArray:
        return np.arange(self.size, dtype=np.int64).reshape(self.shape)
