"""How an update fills its ciphertexts, for reports."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.codec import Layout, compression_ratio, plaintext_space_use
from hekat.engine.ring.parameters import MaskFormat


@dataclass(frozen=True)
class Packing:
    """How the last update filled its ciphertexts: FLBooster (ICDE 2023), Eqs. 11 and 12, with this layout's slots.

    A lane is a slot: the fields are keys of the summary file.
    """

    lane_count: int
    lane_bits: int
    lanes_per_ciphertext: int
    ciphertext_count: int
    compression_ratio: float
    plaintext_space_use: float


def packing_in_layout(layout: Layout, slot_count: int, key_bits: int) -> Packing:
    """Of `slot_count` slots in Paillier ciphertexts under a key of `key_bits`."""
    return Packing(
        lane_count=slot_count,
        lane_bits=layout.slot_bits,
        lanes_per_ciphertext=layout.slots,
        ciphertext_count=layout.plaintext_count(slot_count),
        compression_ratio=compression_ratio(slot_count, layout),
        plaintext_space_use=plaintext_space_use(slot_count, key_bits, layout),
    )


def packing_in_chunks(form: MaskFormat, slot_count: int) -> Packing:
    """Of `slot_count` slots in chunks of masked polynomials."""
    chunk_count = form.chunk_count(slot_count)
    plaintext_bits = form.ring.degree * form.ring.modulus.bit_length()
    return Packing(
        lane_count=slot_count,
        lane_bits=form.slot_bits,
        lanes_per_ciphertext=form.values_per_chunk,
        ciphertext_count=chunk_count,
        compression_ratio=slot_count / chunk_count,
        plaintext_space_use=slot_count * form.slot_bits / (plaintext_bits * chunk_count),
    )
