"""What an encrypted array holds: ciphertexts, and what everybody may see about the values in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from hekat.encrypted_array.encoding import Encoding
from hekat.engine.interface import Engine
from hekat.scheme.paillier import Ciphertexts, PublicKey


@dataclass(frozen=True, eq=False, repr=False)
class EncryptedValues:
    """The fields of `EncryptedArray`, and facts that follow from them: all that its operations need."""

    ciphertexts: Ciphertexts
    shape: tuple[int, ...]
    encoding: Encoding
    scaled_bound: int
    bound_is_public: bool = True
    is_fresh: bool = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def scale_bits(self) -> int:
        """Values are held as integers round(value * 2^scale_bits)."""
        return self.encoding.scale_bits

    @property
    def pack(self) -> int | None:
        """Values to one ciphertext along the last axis; None where every value has its own."""
        return self.encoding.packing.slots if self.encoding.packing else None

    @property
    def key(self) -> PublicKey:
        """The public key that the values are encrypted under."""
        return self.ciphertexts.public

    @property
    def engine(self) -> Engine:
        """The engine that holds the ciphertexts."""
        return self.ciphertexts.engine

    @property
    def device(self) -> str:
        """Name of the engine that holds the ciphertexts."""
        return self.engine.name


Array = TypeVar("Array", bound=EncryptedValues)
