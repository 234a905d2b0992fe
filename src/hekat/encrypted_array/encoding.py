"""What the encrypted integers stand for: scale, kind and lanes. Public, carried by every array."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.encrypted_array.fixed_point import check_scale_bits
from hekat.encrypted_array.packing import LanePacking
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PlaintextSpace


@dataclass(frozen=True)
class Encoding:
    """Values are integers / 2^scale_bits; `is_real` ones decrypt to floats; `lanes` of them share a ciphertext."""

    scale_bits: int
    is_real: bool
    lanes: LanePacking | None = None

    def __post_init__(self) -> None:
        check_scale_bits(self.scale_bits)

    def cipher_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the ciphertexts of an array of `shape`."""
        if self.lanes is None:
            return shape
        return (*shape[:-1], self.lanes.ciphertext_count(shape[-1]))

    def limit(self, space: PlaintextSpace) -> int:
        """The largest scaled magnitude a value may have: the lane's limit, or the key's."""
        return self.lanes.limit if self.lanes else space.bound

    def plaintext_bound(self, scaled_bound: int) -> int:
        """The bound of whole plaintexts whose values are within `scaled_bound`."""
        return self.lanes.plaintext_bound(scaled_bound) if self.lanes else scaled_bound

    def check_bound(self, scaled_bound: int, space: PlaintextSpace, operation: str) -> int:
        """`scaled_bound`, at least 1. Raises BoundError where results within it might not fit."""
        limit = self.limit(space)
        if scaled_bound <= limit:
            return max(scaled_bound, 1)
        place = "a lane" if self.lanes else "the key's plaintext space"
        raise BoundError(
            f"the result of {operation} could pass {place}, so it is not computed",
            expected=f"scaled magnitudes of at most {limit.bit_length()} bits",
            got=f"up to {scaled_bound.bit_length()} bits",
            cure="encrypt with a smaller bound= or scale_bits=, "
            + ("use fewer lanes (pack=), " if self.lanes else "decrypt in between, ")
            + "or take a larger key; for an array that came as bytes, ask its sender for to_bytes(bound=...)",
        )


def check_same_encoding(a: Encoding, b: Encoding) -> None:
    """Raise InputError, with the way to align them, unless both have one scale and the same lanes."""
    if a.lanes != b.lanes:
        raise InputError(
            "the arrays are packed differently",
            expected="the same number of lanes of the same width",
            got=f"{_describe(a.lanes)} and {_describe(b.lanes)}",
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


def _describe(lanes: LanePacking | None) -> str:
    return f"{lanes.lanes} lanes of {lanes.lane_bits} bits" if lanes else "one value per ciphertext"
