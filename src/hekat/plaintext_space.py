"""What a scheme can hold, and the integers on their way into it: all that codec and scheme both know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.errors import BoundError, InputError

LimbArray = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PlaintextSpace:
    """The integers m with |m| <= bound, `slots` of them to one ciphertext."""

    bound: int
    slots: int = 1

    def __post_init__(self) -> None:
        if self.bound < 1 or self.slots < 1:
            raise InputError(
                "a plaintext space holds nothing",
                expected="bound >= 1 and slots >= 1",
                got=f"bound of {self.bound.bit_length()} bits, {self.slots} slots",
            )

    @property
    def bits(self) -> int:
        """Bits of magnitude that every plaintext may use: all of [-(2^bits - 1), 2^bits - 1] fits."""
        return (self.bound + 1).bit_length() - 1

    def check(self, plain: PackedPlaintext) -> None:
        """Raise BoundError unless everything `plain` may hold fits into this space."""
        if plain.bound > self.bound:
            raise BoundError(
                "packed plaintexts do not fit into the key's plaintext space",
                expected=f"magnitudes below 2^{self.bits}",
                got=f"magnitudes up to 2^{plain.bound.bit_length()}",
                cure="use fewer slots per plaintext, fewer bits, or a larger key",
            )


@dataclass(frozen=True, eq=False)
class PackedPlaintext:
    """Signed integers as two's complement little-endian 64-bit limbs, shape (count, limbs), |m| <= bound.

    `bound` is public: what the values may reach by construction, not what they do reach.
    """

    limbs: LimbArray
    bound: int

    def __post_init__(self) -> None:
        if self.limbs.ndim != 2 or self.limbs.dtype != np.uint64:
            raise InputError(
                "packed plaintexts have the wrong layout",
                expected="a (count, limbs) array of uint64",
                got=f"shape {self.limbs.shape} of {self.limbs.dtype}",
            )
        if self.bound.bit_length() >= 64 * self.limbs.shape[1]:
            raise InputError(
                "packed plaintexts have too few limbs for their bound",
                expected=f"more than {self.bound.bit_length()} bits",
                got=f"{64 * self.limbs.shape[1]} bits",
            )

    def __len__(self) -> int:
        return int(self.limbs.shape[0])

    def __repr__(self) -> str:
        return f"PackedPlaintext({len(self)} values, |m| < 2^{self.bound.bit_length()})"
