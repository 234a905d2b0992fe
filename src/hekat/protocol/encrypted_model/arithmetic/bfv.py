"""A round under BFV: numbers mod 2^128 in few ciphertexts, one product of matrices at each host.

The arbiter encrypts its share symmetrically and fresh in every round, so that noise does not grow from round to round.
What it opens lies under a mask uniform mod q: it tells neither the sum nor its noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hekat.protocol.encrypted_model.arithmetic.affine_map import LARGEST_ENTRY
from hekat.protocol.encrypted_model.arithmetic.blame import blame
from hekat.protocol.encrypted_model.arithmetic.fixed_point import MAP_BITS, IntegerMap
from hekat.protocol.encrypted_model.set_up.host_seeds import HostSeeds
from hekat.protocol.shares.share_array import RING_BITS, ShareArray
from hekat.scheme.bfv import KeyPair, PublicKey
from hekat.scheme.bfv.shared_products import (
    MatrixLayout,
    add_answers,
    add_to_matrix,
    cancelling_masks,
    cover_products,
    encrypt_matrix,
    lay_out_matrices,
    mask_products,
    multiply_matrices,
    open_share,
    prepare_matrix,
)
from hekat.wire.shared_products import read_answer, read_matrix, write_answer, write_matrix

ENTRY_BOUND: Final = int(LARGEST_ENTRY) << MAP_BITS


def lay_out_round(shape: tuple[int, int], host_count: int) -> MatrixLayout:
    """How weights (size, K) and maps (size, size) lie in polynomials. Raises BoundError without room for the noise."""
    size, target_count = shape
    return lay_out_matrices(
        bits=RING_BITS,
        rows=size,
        inner=size,
        columns=target_count,
        plain_bound=ENTRY_BOUND,
        opened=False,
        addends=host_count,
    )


class BfvArbiter:
    """Encrypts and opens under its own key."""

    def __init__(self, pair: KeyPair, layout: MatrixLayout) -> None:
        self._pair, self._layout = pair, layout

    def encrypt(self, share: ShareArray) -> bytes:
        return write_matrix(encrypt_matrix(self._pair.private, share, self._layout))

    def open(self, total: bytes) -> ShareArray:
        return open_share(self._pair.private, read_answer(total, self._pair.public, self._layout))


class BfvAggregator:
    """Adds to ciphertexts, and answers to each other."""

    def __init__(self, key: PublicKey, layout: MatrixLayout) -> None:
        self._key, self._layout = key, layout

    def complete(self, share: bytes, own: ShareArray) -> bytes:
        return write_matrix(add_to_matrix(read_matrix(share, self._key, self._layout), own))

    def add(self, updates: Mapping[str, bytes]) -> tuple[bytes, ShareArray]:
        answers = []
        for host, update in updates.items():
            with blame(host):
                answers.append(read_answer(update, self._key, self._layout, whole=True))
        masked, own = mask_products(add_answers(answers))
        return write_answer(masked), own


class BfvHost:
    """Multiplies what it cannot open. Its map is transformed once, since it is the same in every round."""

    def __init__(self, key: PublicKey, layout: MatrixLayout, own: IntegerMap, seeds: HostSeeds) -> None:
        self._key, self._layout, self._offset, self._seeds = key, layout, own.offset, seeds
        self._plain = prepare_matrix(own.matrix, layout)

    def update(self, weights: bytes, round_number: int) -> bytes:
        encrypted = read_matrix(weights, self._key, self._layout)
        products = multiply_matrices(self._plain, encrypted, addend=self._offset)
        added, taken = self._seeds.cancelling(f"round-{round_number}", lambda seed: seed)
        return write_answer(cover_products(products, cancelling_masks(self._layout, added, taken)))
