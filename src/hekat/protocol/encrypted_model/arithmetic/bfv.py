"""A round under BFV: numbers mod 2^128 in few ciphertexts, one product of matrices at each host.

The arbiter encrypts its share symmetrically and fresh in every round, so that noise does not grow from round to round.
What it opens lies under a mask uniform mod q: it tells neither the sum nor its noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Final

from hekat.errors import BoundError
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

MIN_TOLD_HIDING_BITS: Final = 40
"""Noise shows in a number that the owner is given with odds of at most two to the minus so many."""
_ENTRY_VARIANCE: Final = 11
"""Of a coefficient that a share is encrypted in: CBD(21) has 21/2, and two roundings 1/12 each."""
ENTRY_BOUND: Final = int(LARGEST_ENTRY) << MAP_BITS


def lay_out_round(shape: tuple[int, int], host_count: int) -> MatrixLayout:
    """How weights (size, K) and maps (size, size) lie in polynomials. Raises BoundError without room for the noise.

    Shares are truncated before anybody adds them, so the layout need not hide noise by itself (`opened`).
    """
    size, target_count = shape
    layout = lay_out_matrices(
        bits=RING_BITS,
        rows=size,
        inner=size,
        columns=target_count,
        plain_bound=ENTRY_BOUND,
        opened=False,
        addends=host_count,
    )
    check_told_numbers(layout, host_count)
    return layout


def told_hiding_bits(layout: MatrixLayout, host_count: int) -> int:
    """The odds that noise of a round shows in a number of the owner's are at most two to the minus so many.

    Noise e makes the sum of shares one unit of 2^-OFFSET_BITS off with odds |e| / Delta, since the mask is uniform;
    truncation by MAP_BITS passes such a unit on in one of 2^MAP_BITS cases. The mean of |e| is at most its deviation:
    the arbiter draws the errors, whatever maps the hosts have. Primes that answers drop add 2^-`rounding_bits`, which
    truncation brings to 2^-28 at most, above the 20 bits that sums that are told outright have.
    """
    terms = host_count * layout.blocks.rows * layout.blocks.inner * layout.blocks.inner_count(layout.shape)
    noise = layout.plain_bound * (isqrt(terms * _ENTRY_VARIANCE) + 1) + host_count * layout.parameters.fresh_noise
    return (layout.parameters.modulus // noise).bit_length() - 1 - layout.bits + MAP_BITS


def check_told_numbers(layout: MatrixLayout, host_count: int) -> None:
    """Raise BoundError where noise would show in the owner's numbers more often than they may."""
    hidden = told_hiding_bits(layout, host_count)
    if hidden < MIN_TOLD_HIDING_BITS:
        raise BoundError(
            "the weights would tell of the hosts' maps by their noise",
            expected=f"odds of at most 2^-{MIN_TOLD_HIDING_BITS} a number",
            got=f"2^-{hidden}, with {host_count} hosts and {layout.shape.rows} numbers",
            cure="name fewer hosts, leave columns out, or set protection.kind = 'paillier'",
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
