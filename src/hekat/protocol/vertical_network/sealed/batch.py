"""One party's half of the steps of a batch: shares of units, of residuals, of slopes, of the gradient.

Of two shared numbers a + b and c + d each party multiplies its own, and the cross terms come from the other's numbers
encrypted. Matrices meet both ways, since each party has columns of its own; entry by entry the host alone encrypts,
and the guest answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.shares.modular_truncation import ModularTruncation
from hekat.protocol.shares.share_array import (
    ShareArray,
    add_shares,
    constant,
    matmul_integers,
    multiply,
)
from hekat.protocol.vertical_network.fixed_point import IntArray
from hekat.protocol.vertical_network.sealed.cross_products import (
    CrossProducts,
    MatrixFacts,
    Payload,
    SlotFactors,
    SlotFacts,
)
from hekat.protocol.vertical_network.sealed.scales import (
    LINEAR_LIFT,
    RESIDUAL_SHIFT,
    SCORE_BITS,
    SLOPE_SHIFT,
    SLOT_RING,
    UNIT_BITS,
    UNIT_SHIFT,
    SealedShape,
)
from hekat.protocol.vertical_network.sealed.slot_places import add_up_units, place_units, repeat_rows, take_units


class Peer(Protocol):
    """The other party; steps have one name at both."""

    def send(self, step: str, payload: Payload) -> None: ...

    def receive(self, step: str) -> Payload: ...


class Slopes(NamedTuple):
    """Shares of d (primes, rows) at 2^-14, of Q (primes, rows, units) at 2^-26, and of the sum of d^2 at 2^-28."""

    residuals: ModularShares
    products: ModularShares
    loss: ModularShares


@dataclass(frozen=True)
class MetWeights:
    """What `SealedBatch.meet_weights` took: the other party's weights for the own columns, encrypted."""

    theirs: Any
    most_rows: int
    uses: int


class SealedBatch:
    """One party's half of one batch, with `columns` int64 (rows, own width) at 2^-16."""

    def __init__(
        self,
        peer: Peer,
        products: CrossProducts,
        shape: SealedShape,
        columns: IntArray,
        truncation: ModularTruncation,
        *,
        is_guest: bool,
    ) -> None:
        self._peer, self._products, self._shape, self._columns = peer, products, shape, columns
        self._truncation, self._is_guest = truncation, is_guest
        widths = (shape.guest_width, shape.host_width)
        self._own_width, self._other_width = widths if is_guest else widths[::-1]
        self._held: Any = None

    def meet_weights(self, used: ShareArray, uses: int = 1) -> MetWeights:
        """Give and take shares of the weights, encrypted, for `uses` batches that have at most this one's rows.

        `used` are the shares of all weights at 2^-20 that all these batches take.
        """
        rows = self._shape.rows
        answered, opened = self._weight_facts(rows, uses)
        return MetWeights(self._give_and_take("units", self._split(used)[1], answered, opened), rows, uses)

    def forward(self, used: ShareArray, met: MetWeights | None = None) -> ModularShares:
        """Shares of P at 2^-12, (primes, rows, units + 1), of shares of all weights at 2^-20.

        `met`: what the first of several batches with these weights took; None: this batch gives and takes its own.
        """
        met = self.meet_weights(used) if met is None else met
        total = matmul_integers(self._columns, self._split(used)[0])
        answered, opened = self._weight_facts(met.most_rows, met.uses)
        for cross in self._multiply("units", self._columns, met.theirs, answered, opened):
            total = add_shares(total, cross)
        return self._truncation.into_modular(total, UNIT_SHIFT)

    def scores(self, units: ModularShares) -> ModularShares:
        """Shares of s (primes, rows) at 2^-26, of shares of P."""
        ring, shape = SLOT_RING, self._shape
        squared = units.copy()
        squared[..., -1] = 0
        signs = ring.from_integers(np.array([*shape.signs, 0]))[:, np.newaxis]
        own = ring.sum_along(ring.multiply(ring.multiply(squared, squared), signs), 1)
        twice = ring.multiply(squared, ring.from_integers(2 * np.array([*shape.signs, 0]))[:, np.newaxis])
        cross = self._squares(units, twice)
        linear = ring.multiply(units[..., -1], ring.constant(1 << (SCORE_BITS - UNIT_BITS), 1))
        return ring.add(ring.add(own, cross), linear)

    def slopes(self, units: ModularShares, labels: IntArray | None = None) -> Slopes:
        """Shares of d, Q and the loss, of shares of P; the guest has the labels, 1 or -1, (rows,)."""
        ring, score = SLOT_RING, self.scores(units)
        if labels is not None:
            score = ring.subtract(score, ring.from_integers(labels << (SCORE_BITS + 1)))
        residuals = self._truncation.truncate(score, RESIDUAL_SHIFT)
        return self._products_with(units, residuals)

    def gradient(self, slopes: Slopes) -> ShareArray:
        """Shares of the gradient summed over rows at 2^-37, (width, units + 1, 2)."""
        shape = self._shape
        products = self._truncation.into_limbs(slopes.products, SLOPE_SHIFT)
        residuals = self._truncation.into_limbs(slopes.residuals, 0)[:, np.newaxis]
        factors = np.concatenate((products, residuals), axis=1)
        answered = MatrixFacts(self._own_width, shape.rows, shape.units + 1)
        opened = MatrixFacts(self._other_width, shape.rows, shape.units + 1)
        turned = np.ascontiguousarray(self._columns.T)
        theirs = self._give_and_take("gradient", factors, answered, opened)
        answer, opening = self._multiply("gradient", turned, theirs, answered, opened)
        own = add_shares(matmul_integers(turned, factors), answer)
        summed = np.concatenate((own, opening) if self._is_guest else (opening, own))
        weights = np.stack([constant(sign) for sign in shape.signs] + [constant(1 << LINEAR_LIFT)])
        return multiply(summed, weights)

    def _split(self, used: ShareArray) -> tuple[ShareArray, ShareArray]:
        """Shares of the weights of the own columns, and of the other party's."""
        guests, hosts = used[: self._shape.guest_width], used[self._shape.guest_width :]
        return (guests, hosts) if self._is_guest else (hosts, guests)

    def _weight_facts(self, most_rows: int, uses: int) -> tuple[MatrixFacts, MatrixFacts]:
        """Of the own columns times weights, which is answered, and of the other party's, which is opened."""
        rows, columns = self._shape.rows, self._shape.units + 1
        return (
            MatrixFacts(rows, self._own_width, columns, most_rows, uses),
            MatrixFacts(rows, self._other_width, columns, most_rows, uses),
        )

    def _give_and_take(self, step: str, held: ShareArray, answered: MatrixFacts, opened: MatrixFacts) -> Any:
        """Send own numbers encrypted; the other's, as `read_matrix` has them."""
        self._peer.send(f"{step}/factors", self._products.hold_matrix(held, opened))
        return self._products.read_matrix(self._peer.receive(f"{step}/factors"), answered)

    def _multiply(
        self, step: str, plain: IntArray, theirs: Any, answered: MatrixFacts, opened: MatrixFacts
    ) -> tuple[ShareArray, ShareArray]:
        """Own shares of the own columns times the other's numbers, and of its columns times the own numbers."""
        peer, products = self._peer, self._products
        answer, share = products.answer_matrix(plain, theirs, answered)
        peer.send(f"{step}/answer", answer)
        return share, products.open_matrix(peer.receive(f"{step}/answer"), opened)

    def _squares(self, units: ModularShares, twice: ModularShares) -> ModularShares:
        """Own shares of the sum over units of sigma 2 a b, (primes, rows): a is the guest's, b the host's."""
        shape, facts = self._shape, SlotFacts(self._shape.slots, folded=True)
        if self._is_guest:
            self._held = self._products.read_slots(self._peer.receive("squares/factors"), shape.slots)
            factors = [SlotFactors(place_units(twice, shape), self._held)]
            answer, share = self._products.answer_slots(factors, facts)
            self._peer.send("squares/answer", answer)
        else:
            self._peer.send("squares/factors", self._products.hold_slots(place_units(units, shape)))
            share = self._products.open_slots(self._peer.receive("squares/answer"), facts)
        return add_up_units(share, shape)

    def _products_with(self, units: ModularShares, residuals: ModularShares) -> Slopes:
        """Own shares of d P_j, and in the linear unit's place, where it is not needed, of the cross term of d^2."""
        ring, shape = SLOT_RING, self._shape
        facts = SlotFacts(shape.slots, terms=2)
        whole = np.broadcast_to(residuals[..., np.newaxis], units.shape)
        if self._is_guest:
            with_units, with_residuals = whole.copy(), units.copy()
            with_units[..., -1] = 0
            with_residuals[..., -1] = residuals
            held = self._products.read_slots(self._peer.receive("slopes/factors"), shape.block_slots)
            factors = [
                SlotFactors(place_units(with_units, shape), self._held),
                SlotFactors(place_units(with_residuals, shape), held),
            ]
            answer, share = self._products.answer_slots(factors, facts)
            self._peer.send("slopes/answer", answer)
        else:
            self._peer.send("slopes/factors", self._products.hold_slots(repeat_rows(residuals, shape)))
            share = self._products.open_slots(self._peer.receive("slopes/answer"), facts)
        crossed = take_units(share, shape)
        products = ring.add(ring.multiply(units, whole), crossed)[..., :-1]
        twice = ring.multiply(crossed[..., -1], ring.constant(2, 1))
        loss = ring.sum_along(ring.add(ring.multiply(residuals, residuals), twice), 0)
        return Slopes(residuals, products, loss)
