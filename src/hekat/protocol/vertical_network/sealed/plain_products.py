"""Products in the clear, for a comparison: the holder's share is the product, the other party's share is nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hekat.errors import WireCorruptError
from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.shares.share_array import ShareArray, matmul_integers
from hekat.protocol.vertical_network.fixed_point import IntArray
from hekat.protocol.vertical_network.sealed.cross_products import MatrixFacts, Payload, SlotFactors, SlotFacts
from hekat.protocol.vertical_network.sealed.scales import SLOT_RING, SLOTS


class PlainProducts:
    """One party's half in the clear; it has no key."""

    public_key = b""

    def meet(self, peer: str, public_key: bytes) -> None:
        pass

    def hold_matrix(self, shares: ShareArray, facts: MatrixFacts) -> Payload:
        return _write(shares)

    def read_matrix(self, held: Payload, facts: MatrixFacts) -> ShareArray:
        return _read(held, (facts.inner, facts.columns, 2))

    def answer_matrix(self, plain: IntArray, held: ShareArray, facts: MatrixFacts) -> tuple[Payload, ShareArray]:
        product = matmul_integers(plain, held)
        return _write(product), np.zeros_like(product)

    def open_matrix(self, answer: Payload, facts: MatrixFacts) -> ShareArray:
        return _read(answer, (facts.rows, facts.columns, 2))

    def hold_slots(self, shares: ModularShares) -> Payload:
        return _write(shares)

    def read_slots(self, held: Payload, count: int) -> ModularShares:
        return _read(held, (len(SLOT_RING.primes), count))

    def answer_slots(self, factors: Sequence[SlotFactors], facts: SlotFacts) -> tuple[Payload, ModularShares]:
        blocks = -(-facts.count // SLOTS)
        total = np.zeros((len(SLOT_RING.primes), blocks, min(SLOTS, facts.count)), np.uint64)
        for one in factors:
            total = SLOT_RING.add(total, SLOT_RING.multiply(_in_blocks(one.plain), _in_blocks(one.held)))
        sums = SLOT_RING.sum_along(total, 0) if facts.folded else total.reshape(len(total), -1)[:, : facts.count]
        return _write(sums), np.zeros_like(sums)

    def open_slots(self, answer: Payload, facts: SlotFacts) -> ModularShares:
        count = min(SLOTS, facts.count) if facts.folded else facts.count
        return _read(answer, (len(SLOT_RING.primes), count))


def _in_blocks(values: ModularShares) -> ModularShares:
    """Numbers (primes, count) as (primes, blocks, N), zeros behind the last; one block of fewer stays as it is."""
    count = values.shape[1]
    missing = -count % SLOTS if count > SLOTS else 0
    return np.pad(values, ((0, 0), (0, missing))).reshape(len(values), -1, min(count, SLOTS))


def _write(values: npt.NDArray[np.uint64]) -> Payload:
    return (np.ascontiguousarray(values, "<u8").tobytes(),)


def _read(payload: Payload, shape: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    size = 8 * int(np.prod(shape))
    if [len(data) for data in payload] != [size]:
        raise WireCorruptError(
            "numbers of a sealed network are of another shape",
            expected=f"one field of {size} bytes",
            got=f"fields of {[len(data) for data in payload]} bytes",
            cure="all parties must run the same job and release",
        )
    return np.frombuffer(payload[0], "<u8").astype(np.uint64).reshape(shape)
