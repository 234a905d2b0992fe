"""How an update fills its ciphertexts, for reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Packing:
    """How the last update filled its ciphertexts: FLBooster (ICDE 2023), Eqs. 11 and 12, with this layout's lanes."""

    lane_count: int
    lane_bits: int
    lanes_per_ciphertext: int
    ciphertext_count: int
    compression_ratio: float
    plaintext_space_use: float
