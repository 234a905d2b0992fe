"""Products of each other's numbers under ring LWE, left in shares by masks that are uniform over the whole ring."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekat.errors import KeyRefusedError, WireCorruptError
from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.shares.share_array import RING_BITS, ShareArray
from hekat.protocol.vertical_network.fixed_point import FEATURE_BITS, IntArray, bound_of
from hekat.protocol.vertical_network.sealed.cross_products import MatrixFacts, Payload, SlotFactors, SlotFacts
from hekat.scheme.bfv import PRODUCTS, PublicKey, generate_keys
from hekat.scheme.bfv.shared_products import (
    EncryptedMatrix,
    MatrixLayout,
    encrypt_matrix,
    lay_out_matrices,
    multiply_masked,
    open_share,
    prepare_matrix,
)
from hekat.scheme.bfv.slot_products import (
    SLOT_PRIMES,
    EncryptedSlots,
    SlotSums,
    SlotTerm,
    SlotVector,
    encrypt_slots,
    lay_out_slot_sums,
    multiply_slots_masked,
    open_slots,
    prepare_slots,
)
from hekat.wire import from_bytes, to_bytes
from hekat.wire.shared_products import read_answer, read_matrix, write_answer, write_matrix
from hekat.wire.slot_products import read_slot_answer, read_slots, write_slot_answer, write_slots


class LatticeProducts:
    """One party's half under its own key pair, made here for one run."""

    def __init__(self) -> None:
        self._pair = generate_keys()
        self._peer: PublicKey | None = None

    @property
    def public_key(self) -> bytes:
        return to_bytes(self._pair.public)

    def meet(self, peer: str, public_key: bytes) -> None:
        key = from_bytes(public_key, PublicKey)
        if key == self._pair.public:
            raise KeyRefusedError(
                f"{peer} came with this party's key",
                expected="a key of its own",
                got="the same one",
                cure="each party makes a key of its own for each run",
            )
        self._peer = key

    def hold_matrix(self, shares: ShareArray, facts: MatrixFacts) -> Payload:
        return (write_matrix(encrypt_matrix(self._pair.private, shares, _layout_of(facts))),)

    def read_matrix(self, held: Payload, facts: MatrixFacts) -> EncryptedMatrix:
        (data,) = _of_length(held, 1)
        return read_matrix(data, self._their_key, _layout_of(facts))

    def answer_matrix(self, plain: IntArray, held: EncryptedMatrix, facts: MatrixFacts) -> tuple[Payload, ShareArray]:
        answer, share = multiply_masked(prepare_matrix(plain, _layout_of(facts)), held)
        return (write_answer(answer),), share

    def open_matrix(self, answer: Payload, facts: MatrixFacts) -> ShareArray:
        (data,) = _of_length(answer, 1)
        return open_share(self._pair.private, read_answer(data, self._pair.public, _layout_of(facts)))

    def hold_slots(self, shares: ModularShares) -> Payload:
        return tuple(
            write_slots(encrypt_slots(self._pair.private, x, SlotVector(PRODUCTS, prime, len(x))))
            for x, prime in zip(shares, SLOT_PRIMES, strict=True)
        )

    def read_slots(self, held: Payload, count: int) -> tuple[EncryptedSlots, ...]:
        pairs = zip(_of_length(held, len(SLOT_PRIMES)), SLOT_PRIMES, strict=True)
        return tuple(read_slots(data, self._their_key, SlotVector(PRODUCTS, prime, count)) for data, prime in pairs)

    def answer_slots(self, factors: Sequence[SlotFactors], facts: SlotFacts) -> tuple[Payload, ModularShares]:
        answers, shares = [], []
        for number, prime in enumerate(SLOT_PRIMES):
            terms = [_term_of(one, number, prime) for one in factors]
            answer, share = multiply_slots_masked(_sums_of(facts, prime), terms)
            answers.append(write_slot_answer(answer))
            shares.append(share)
        return tuple(answers), np.stack(shares)

    def open_slots(self, answer: Payload, facts: SlotFacts) -> ModularShares:
        pairs = zip(_of_length(answer, len(SLOT_PRIMES)), SLOT_PRIMES, strict=True)
        return np.stack(
            [
                open_slots(self._pair.private, read_slot_answer(data, self._pair.public, _sums_of(facts, prime)))
                for data, prime in pairs
            ]
        )

    @property
    def _their_key(self) -> PublicKey:
        assert self._peer is not None
        return self._peer


def _term_of(factors: SlotFactors, number: int, prime: int) -> SlotTerm:
    plain = factors.plain[number]
    return SlotTerm(prepare_slots(plain, SlotVector(PRODUCTS, prime, len(plain))), factors.held[number])


def _layout_of(facts: MatrixFacts) -> MatrixLayout:
    layout = lay_out_matrices(
        bits=RING_BITS,
        rows=facts.rows if facts.most_rows is None else facts.most_rows,
        inner=facts.inner,
        columns=facts.columns,
        plain_bound=bound_of(FEATURE_BITS),
        opened=False,
        uses=facts.uses,
    )
    return layout.with_rows(facts.rows)


def _sums_of(facts: SlotFacts, prime: int) -> SlotSums:
    return lay_out_slot_sums(prime=prime, count=facts.count, terms=facts.terms, folded=facts.folded)


def _of_length(payload: Payload, count: int) -> Payload:
    if len(payload) != count:
        raise WireCorruptError(
            "numbers of a sealed network are not complete", expected=f"{count} fields", got=f"{len(payload)}"
        )
    return payload
