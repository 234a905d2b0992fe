"""A party's half of a sealed network's products by the job's protection, and their time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.shares.share_array import ShareArray
from hekat.protocol.vertical_network.fixed_point import IntArray
from hekat.protocol.vertical_network.sealed.cross_products import (
    CrossProducts,
    MatrixFacts,
    Payload,
    SlotFactors,
    SlotFacts,
)
from hekat.protocol.vertical_network.sealed.inner_watch import InnerWatch
from hekat.protocol.vertical_network.sealed.plain_products import PlainProducts
from hekat.protocol.vertical_network.timing_labels import DECRYPT, ENCRYPT, KEYS, PRODUCTS


def make_products(protection: str, watch: InnerWatch) -> CrossProducts:
    """A party's half under `protection`, with a key of its own where there are keys; its time counts in `watch`."""
    if protection == "none":
        return MeasuredProducts(PlainProducts(), watch)
    # Imported here: a comparison in the clear needs no keys.
    from hekat.protocol.vertical_network.sealed.lattice_products import LatticeProducts

    with watch.measure(KEYS):
        return MeasuredProducts(LatticeProducts(), watch)


class MeasuredProducts:
    """Another half, with the time that each of its operations takes."""

    def __init__(self, products: CrossProducts, watch: InnerWatch) -> None:
        self._products, self._watch = products, watch

    @property
    def public_key(self) -> bytes:
        return self._products.public_key

    def meet(self, peer: str, public_key: bytes) -> None:
        self._products.meet(peer, public_key)

    def hold_matrix(self, shares: ShareArray, facts: MatrixFacts) -> Payload:
        with self._watch.measure(ENCRYPT):
            return self._products.hold_matrix(shares, facts)

    def read_matrix(self, held: Payload, facts: MatrixFacts) -> Any:
        with self._watch.measure(PRODUCTS):
            return self._products.read_matrix(held, facts)

    def answer_matrix(self, plain: IntArray, held: Any, facts: MatrixFacts) -> tuple[Payload, ShareArray]:
        with self._watch.measure(PRODUCTS):
            return self._products.answer_matrix(plain, held, facts)

    def open_matrix(self, answer: Payload, facts: MatrixFacts) -> ShareArray:
        with self._watch.measure(DECRYPT):
            return self._products.open_matrix(answer, facts)

    def hold_slots(self, shares: ModularShares) -> Payload:
        with self._watch.measure(ENCRYPT):
            return self._products.hold_slots(shares)

    def read_slots(self, held: Payload, count: int) -> Any:
        with self._watch.measure(PRODUCTS):
            return self._products.read_slots(held, count)

    def answer_slots(self, factors: Sequence[SlotFactors], facts: SlotFacts) -> tuple[Payload, ModularShares]:
        with self._watch.measure(PRODUCTS):
            return self._products.answer_slots(factors, facts)

    def open_slots(self, answer: Payload, facts: SlotFacts) -> ModularShares:
        with self._watch.measure(DECRYPT):
            return self._products.open_slots(answer, facts)
