"""A vector under its owner's key, in slots: symmetric encryption, the uniform half sent as a seed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.ring.checks import check_elements
from hekat.engine.ring.interface import RingArray, RingEngine
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.bfv.elements import Elements, add_elements, multiply_slots, scale_elements
from hekat.scheme.bfv.keys import SEED_BYTES, PrivateKey, PublicKey
from hekat.scheme.bfv.shared_products.encrypted_matrix import expand
from hekat.scheme.bfv.slot_products.layout import SlotVector
from hekat.scheme.bfv.slot_products.plain_slots import take_blocks
from hekat.scheme.bfv.slot_products.plaintext import coefficients_of
from hekat.scheme.parameter_set import check_same_parameters
from hekat.scheme.ring_elements import constants

SLOTS_DOMAIN: Final = b"hekat/bfv/a-of-slots/1:"


@dataclass(frozen=True)
class EncryptedSlots:
    """Ciphertexts with c0 + a s = q x / p + noise, x the polynomials of a vector: c0 transformed, (blocks, primes, N).

    The a follow from `seed`. Raises InputError for another layout and for values that are no residues, KeyRefusedError
    for a key of another set.
    """

    key: PublicKey
    vector: SlotVector
    seed: bytes
    c0: Elements = field(repr=False)

    def __post_init__(self) -> None:
        parameters, what = self.vector.parameters, "an encrypted vector"
        check_same_parameters(parameters, self.key.parameters, "a BFV key")
        if not isinstance(self.seed, bytes) or len(self.seed) != SEED_BYTES:
            raise InputError(f"seed of {what} refused", expected=f"{SEED_BYTES} bytes", got="others")
        shapes = {check_elements(part, x, what) for part, x in zip(parameters.parts, self.c0, strict=True)}
        if shapes != {(self.vector.blocks,)}:
            raise InputError(
                f"{what} has the wrong layout",
                expected=f"{self.vector.blocks} ciphertexts",
                got=" and ".join(str(found) for found in sorted(shapes)),
                cure="all parties must run the same job and release",
            )

    def second_halves(self, engine: RingEngine | None = None) -> Elements:
        """The a, transformed, in the shape of `c0`; expanded anew by every call."""
        return expand(self.vector.parameters, self.seed, self.vector.blocks, engine or get_engine(), SLOTS_DOMAIN)


def encrypt_slots(
    key: PrivateKey, residues: RingArray, vector: SlotVector, engine: Engine | None = None
) -> EncryptedSlots:
    """A vector uint64 (count,) of residues mod p, under its owner's key.

    x becomes the nearest integer to q x / p, coefficient by coefficient: with c = q x mod p, about 0, that is (q x - c)
    / p, which is -c / p mod every prime of q. Seed and errors are drawn here from the operating system, and nobody can
    pass them: no two vectors share an a. Raises InputError for another shape or type, or what is no residue.
    """
    parameters, engine = vector.parameters, engine or get_engine()
    check_same_parameters(parameters, key.public.parameters, "a BFV key")
    slots = take_blocks(residues, vector)
    count = vector.blocks
    errors = engine.sample_cbd(os.urandom(SEED_BYTES), 0, count, parameters.degree)
    centred = coefficients_of(vector.ring, slots, parameters.modulus, engine)
    # (p e - c) / p, whose numerator is below 2^55.
    noisy = np.int64(vector.prime) * errors.astype(np.int64) - centred
    encoded = tuple(
        engine.ring_mul(
            part,
            engine.ring_ntt_integers(part, noisy),
            constants(part, *(pow(vector.prime, -1, prime) for prime in part.primes)),
        )
        for part in parameters.parts
    )
    seed = os.urandom(SEED_BYTES)
    minus_secret = scale_elements(parameters, key.secret, -1, engine)
    second = expand(parameters, seed, count, engine, SLOTS_DOMAIN)
    shared = multiply_slots(parameters, second, minus_secret, engine)
    return EncryptedSlots(key.public, vector, seed, add_elements(parameters, encoded, shared, engine))
