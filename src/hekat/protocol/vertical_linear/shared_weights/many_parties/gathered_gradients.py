"""Gradients at a holder, from the shares that the set-up among three parties or more left there."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.protocol.shares.share_array import ShareArray
from hekat.protocol.vertical_linear.shared_weights.gram import GramGradients, IntArray
from hekat.protocol.vertical_linear.shared_weights.many_parties.set_up import BatchProducts
from hekat.protocol.vertical_linear.shared_weights.pair import Pair


class GatheredGradients(GramGradients):
    """As GramGradients, of all parties' columns; `features` and `targets` are the holder's own, for bounds and the
    loss."""

    def __init__(
        self,
        pair: Pair,
        features: IntArray,
        targets: IntArray | None,
        batches: Sequence[IntArray],
        gathered: Sequence[BatchProducts],
    ) -> None:
        super().__init__(pair, features, targets, batches)
        self._gathered = gathered

    def _make_products(self, step: str, number: int) -> tuple[ShareArray, ShareArray, ShareArray]:
        found = self._gathered[number]
        return self._scaled(found.products, found.targets, number)
