"""Arrays of residues that belong to a public key: their shape, and what takes, joins and prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np

from hekat.engine.interface import Engine, IndexArray, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.errors import InputError

Key = TypeVar("Key")


@dataclass(frozen=True, eq=False)
class KeyedResidues(Generic[Key]):
    """Residues under `public`, in any shape, held by one engine; prints none of them."""

    public: Key
    residues: ResidueArray

    def __post_init__(self) -> None:
        """Raise InputError unless the residues are modulo the key's modulus; each kind names the modulus it needs."""
        raise NotImplementedError

    @property
    def engine(self) -> Engine:
        """The engine that holds them."""
        return self.residues.engine

    @property
    def shape(self) -> tuple[int, ...]:
        return self.residues.shape

    @property
    def size(self) -> int:
        """How many there are."""
        return self.residues.size

    def to_limbs(self) -> LimbArray:
        """The values in canonical form.

        Returns:
            uint64 limbs, little-endian, shape (*shape, limbs).
        """
        return self.engine.store(self.residues)

    def reshape(self, *shape: int | tuple[int, ...]) -> Self:
        """The same values in C order under another shape.

        Args:
            *shape: The lengths, or one tuple of them; one length may be -1.

        Returns:
            An array of the same class and engine.

        Raises:
            InputError: The sizes differ.
        """
        try:
            wanted = self._positions().reshape(*shape).shape  # type: ignore[arg-type]
        except (ValueError, TypeError):
            raise InputError("reshape refused", expected=f"a shape of {self.size} values", got=str(shape)) from None
        return type(self)(self.public, self.engine.reshape(self.residues, wanted))

    def take(self, indices: IndexArray) -> Self:
        """The values at flat positions.

        Args:
            indices: int64 positions in C order, of any shape.

        Returns:
            An array in the shape of `indices`.
        """
        return type(self)(self.public, self.engine.take(self.residues, indices))

    def __len__(self) -> int:
        return len(self.residues)

    def __getitem__(self, key: Any) -> Self:
        """As NumPy indexes. Raises IndexError as NumPy does."""
        return self.take(np.asarray(self._positions()[key], dtype=np.int64))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape {self.shape}, engine {self.engine.name}, {self.public!r})"

    def _positions(self) -> IndexArray:
        return np.arange(self.size, dtype=np.int64).reshape(self.shape)
