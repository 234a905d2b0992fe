"""What the encrypted integers stand for: scale, kind and slots. Public; every array carries it."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.encrypted_array.fixed_point import check_scale_bits
from hekat.encrypted_array.packing import SlotPacking
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PlaintextSpace


@dataclass(frozen=True)
class Encoding:
    """Values are integers / 2^scale_bits; `is_real` ones decrypt to floats; `packing`: several to a ciphertext."""

    scale_bits: int
    is_real: bool
    packing: SlotPacking | None = None

    def __post_init__(self) -> None:
        check_scale_bits(self.scale_bits)

    def cipher_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the ciphertexts of an array of `shape`."""
        if self.packing is None:
            return shape
        return (*shape[:-1], self.packing.ciphertext_count(shape[-1]))

    def limit(self, space: PlaintextSpace) -> int:
        """The largest scaled magnitude a value may have: the slot's limit, or the key's."""
        return self.packing.limit if self.packing else space.bound

    def plaintext_bound(self, scaled_bound: int) -> int:
        """The bound of whole plaintexts whose values are within `scaled_bound`."""
        return self.packing.plaintext_bound(scaled_bound) if self.packing else scaled_bound

    def check_bound(self, scaled_bound: int, space: PlaintextSpace, operation: str) -> int:
        """`scaled_bound`, at least 1. Raises BoundError where results within it might not fit."""
        limit = self.limit(space)
        if scaled_bound <= limit:
            return max(scaled_bound, 1)
        place = "a slot" if self.packing else "the key's plaintext space"
        raise BoundError(
            f"the result of {operation} could pass {place}, so it is not computed",
            expected=f"scaled magnitudes of at most {limit.bit_length()} bits",
            got=f"up to {scaled_bound.bit_length()} bits",
            cure="encrypt with a smaller bound= or scale_bits=, "
            + ("use fewer slots (pack=), " if self.packing else "decrypt in between, ")
            + "or take a larger key; for an array that came as bytes, ask its sender for to_bytes(bound=...)",
        )


def check_same_encoding(a: Encoding, b: Encoding) -> None:
    """Raise InputError, with the way to align them, unless both have one scale and the same slots."""
    if a.packing != b.packing:
        raise InputError(
            "the arrays are packed differently",
            expected="the same number of slots of the same width",
            got=f"{_describe(a.packing)} and {_describe(b.packing)}",
            cure="encrypt both with the same pack= and lane_bits= under the same key",
        )
    if a.scale_bits != b.scale_bits:
        side = "left" if a.scale_bits < b.scale_bits else "right"
        raise InputError(
            "the arrays have unequal scales",
            expected="one scale_bits",
            got=f"{a.scale_bits} and {b.scale_bits}",
            cure=f"align the {side} one first: .rescale_up({abs(a.scale_bits - b.scale_bits)})",
        )


def _describe(packing: SlotPacking | None) -> str:
    return f"{packing.slots} slots of {packing.slot_bits} bits" if packing else "one value per ciphertext"
