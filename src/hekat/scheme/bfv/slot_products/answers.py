"""What leaves the owner of plain vectors: sums of products under masks, and the share that a mask leaves behind."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.ring.checks import check_elements
from hekat.engine.ring.interface import RingArray
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bfv.elements import Elements, add_elements
from hekat.scheme.bfv.keys import SEED_BYTES, PublicKey
from hekat.scheme.bfv.shared_products.dropped_primes import drop_primes
from hekat.scheme.bfv.shared_products.residues import draw_uniform, pack
from hekat.scheme.bfv.slot_products.encrypted_slots import EncryptedSlots
from hekat.scheme.bfv.slot_products.layout import SlotSums
from hekat.scheme.bfv.slot_products.plain_slots import PlainSlots
from hekat.scheme.bfv.slot_products.plaintext import floor_of_units, negate, slots_of
from hekat.scheme.parameter_set import check_same_parameters


class SlotTerm(NamedTuple):
    """One product of a sum. A vector of one block stands beside every block of the other."""

    plain: PlainSlots
    encrypted: EncryptedSlots


@dataclass(frozen=True)
class SlotAnswer:
    """Both halves of every block, coefficients (blocks, primes, N) mod the first primes, c0 under a mask.

    Raises InputError for another layout and for values that are no residues, KeyRefusedError for a key of another set.
    """

    key: PublicKey
    layout: SlotSums
    c1: Elements = field(repr=False)
    c0: Elements = field(repr=False)

    def __post_init__(self) -> None:
        check_same_parameters(self.layout.parameters, self.key.parameters, "a BFV key")
        parts, what = self.layout.kept.parts, "masked products of slots"
        shapes = {
            check_elements(part, x, what) for half in (self.c1, self.c0) for part, x in zip(parts, half, strict=True)
        }
        if shapes != {(self.layout.sums.blocks,)}:
            raise InputError(
                f"{what} have the wrong layout",
                expected=f"{self.layout.sums.blocks} ciphertexts",
                got=" and ".join(str(found) for found in sorted(shapes)),
                cure="all parties must run the same job and release",
            )


def multiply_slots_masked(
    layout: SlotSums, terms: Sequence[SlotTerm], engine: Engine | None = None
) -> tuple[SlotAnswer, RingArray]:
    """What the key's holder gets of a sum of entrywise products, and the own share of it: residues mod p, (count,).

    Both shares add up to the sum mod p, but for a block with odds of 2^-exact_bits. Each block takes an encryption of
    zero of its own in both halves, without which the key's holder would divide second halves, and a mask uniform mod q
    in every coefficient of c0: what the holder opens is uniform, whatever it has encrypted. Raises InputError where
    vectors do not fit the layout, KeyRefusedError where they are under several keys.
    """
    key = _key_of(layout, terms)
    engine, parameters = engine or get_engine(), layout.parameters
    prime, blocks = layout.sums.prime, layout.sums.blocks
    c0, c1 = _multiply(layout, key, terms, engine)
    mask = pack(parameters, draw_uniform(parameters, blocks * parameters.degree, engine))
    floors = floor_of_units(parameters, mask, prime, engine)
    share = slots_of(layout.sums.ring, negate(layout.sums.ring, floors, engine), engine)
    masked = add_elements(parameters, c0, mask, engine)
    kept = [drop_primes(parameters, half, layout.kept_primes, engine) for half in (c1, masked)]
    return SlotAnswer(key, layout, *kept), share.reshape(-1)[: layout.sums.count]


def _key_of(layout: SlotSums, terms: Sequence[SlotTerm]) -> PublicKey:
    """The key of all terms, which fit the layout."""
    keys = {term.encrypted.key for term in terms}
    if len(keys) > 1:
        raise KeyRefusedError(
            "vectors of one sum are under different keys", expected="one key", got=f"{len(keys)} keys"
        )
    vectors = {vector for term in terms for vector in (term.plain.vector, term.encrypted.vector)}
    rings = {(vector.parameters, vector.prime) for vector in vectors}
    counts = [{term.plain.vector.blocks, term.encrypted.vector.blocks} - {1} for term in terms]
    most = layout.products // max(1, len(terms)) if layout.folded else layout.sums.blocks
    fits = all(count <= {most} for count in counts) and len(terms) * (most if layout.folded else 1) == layout.products
    if not terms or rings != {(layout.parameters, layout.sums.prime)} or not fits:
        raise InputError(
            "vectors do not fit a sum of products",
            expected=f"{layout.products} products a block, vectors of 1 or {most} blocks mod one prime",
            got=f"{len(terms)} terms of {sorted(vector.blocks for vector in vectors)} blocks",
            cure="lay both out by the same facts",
        )
    return keys.pop()


def _multiply(layout: SlotSums, key: PublicKey, terms: Sequence[SlotTerm], engine: Engine) -> tuple[Elements, Elements]:
    """Both halves of all sums, coefficients (blocks, primes, N), an encryption of zero in each."""
    parameters, blocks = layout.parameters, layout.sums.blocks
    # v, e1 and e2 of every block, the same in all parts of the modulus.
    small = engine.sample_cbd(os.urandom(SEED_BYTES), 0, 3 * blocks, parameters.degree)
    small = small.reshape(blocks, 3, parameters.degree)
    second = [term.encrypted.second_halves(engine) for term in terms]
    halves = []
    for number, (part, b, a) in enumerate(zip(parameters.parts, key.b, key.a, strict=True)):
        pairs = [
            (term.plain.elements[number], np.stack((term.encrypted.c0[number], a_of[number]), axis=1))
            for term, a_of in zip(terms, second, strict=True)
        ]
        lists = _products_of_blocks(layout, pairs)
        dots = [
            engine.ring_dot(part, np.stack([x for x, _ in products])[np.newaxis], np.stack([y for _, y in products]))
            for products in lists
        ]
        halves.append(engine.ring_refresh(part, np.concatenate(dots), small, np.stack((b, a))))
    return tuple(np.ascontiguousarray(x[:, 0]) for x in halves), tuple(np.ascontiguousarray(x[:, 1]) for x in halves)


def _products_of_blocks(
    layout: SlotSums, pairs: list[tuple[RingArray, RingArray]]
) -> list[list[tuple[RingArray, RingArray]]]:
    """For each block of the answer the products that it adds up: a plain polynomial, both halves of a ciphertext."""
    count = layout.products // len(pairs) if layout.folded else layout.sums.blocks
    of_blocks = [[(x[i % len(x)], y[i % len(y)]) for x, y in pairs] for i in range(count)]
    return [[pair for block in of_blocks for pair in block]] if layout.folded else of_blocks
