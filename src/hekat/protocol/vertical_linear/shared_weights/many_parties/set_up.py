"""The set-up among three parties or more, once before the first epoch: shares of X^T X and X^T y at both holders.

For each batch, with hosts in the job's order and the guest last:
    1. each host encrypts its rows once, under its own key, and sends all later parties the same bytes
    2. each later party multiplies them with its own columns, the guest with its targets too, masks and answers: both
       hold shares of the products, as in `gram`
    3. each party adds what it knows alone: products of its own columns with each other and with the ones
    4. a quiet party splits all of it into two addends, one to each holder
The holders add what comes to what they have: shares of the sums over all parties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hekat.ledger import RecordedChannel
from hekat.protocol.shares.share_array import (
    ShareArray,
    add_shares,
    constant,
    from_integers,
    matmul_integers,
    shift_left,
    sum_along,
    zero_shares,
)
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.cross_products.paillier import CrossProducts
from hekat.protocol.vertical_linear.shared_weights.gram import IntArray, layout_of_columns, take_off_raise
from hekat.protocol.vertical_linear.shared_weights.many_parties.addends import checked_addend, split
from hekat.protocol.vertical_linear.shared_weights.many_parties.places import Places
from hekat.protocol.vertical_linear.shared_weights.messages import ColumnAddendsMessage
from hekat.protocol.vertical_linear.shared_weights.own_columns import OwnColumns
from hekat.protocol.vertical_linear.shared_weights.scales import Scales
from hekat.protocol.vertical_linear.timing_labels import PLAIN


@dataclass(frozen=True)
class BatchProducts:
    """A holder's shares for one batch, exact integers: X^T X (size, size, 2) and X^T y (size, K, 2)."""

    products: ShareArray
    targets: ShareArray


@dataclass(frozen=True)
class SetUp:
    """One party's side of the set-up: `integers` (rows, own columns) dense, and the products with all others."""

    channel: RecordedChannel
    settings: VerticalLinearSettings
    own: OwnColumns
    integers: IntArray
    places: Places
    cross_products: Mapping[str, CrossProducts]
    scales: Scales
    stopwatch: Stopwatch

    def play(self) -> list[BatchProducts]:
        """The holder's shares, one for each batch; at a quiet party none. Raises ProtocolError."""
        party, holders = self.channel.party, self.settings.holders
        kept = []
        for number in range(len(self.own.batches)):
            step = f"set-up/batch-{number + 1}"
            mine = self._contribution(step, number)
            if party in holders:
                kept.append(self._gather(step, number, mine))
            else:
                products, targets = split(mine.products), split(mine.targets)
                for place, holder in enumerate(holders):
                    message = ColumnAddendsMessage(products[place], targets[place])
                    self.channel.send(holder, f"{step}/addends", message)
        return kept

    def _contribution(self, step: str, number: int) -> BatchProducts:
        """This party's shares of the products of its columns (own, size, 2), and of the targets with them (own, K, 2);
        at the guest of the targets with all columns (size, K, 2)."""
        settings, places, party = self.settings, self.places, self.channel.party
        rows = self.own.batches[number]
        columns = np.ascontiguousarray(self.integers[rows].T)
        targets = None if self.own.targets is None else self.own.targets[rows]
        mine = zero_shares((len(columns), places.size))
        crossed = zero_shares((places.size, settings.column_count))
        order = (*settings.hosts, settings.guest)
        at, own_place = order.index(party), places.ranges[party]
        later = order[at + 1 :]
        if later:
            layout = layout_of_columns(self.scales, settings.key_bits, len(columns), len(rows))
            offset_bits = self.scales.feature_limit_bits
            message = self.cross_products[later[0]].pack_columns(columns.T, offset_bits, layout)
            for peer in later:
                self.channel.send(peer, f"{step}/columns", message)
        for peer in order[:at]:
            products = self._answer(step, peer, columns, targets)
            mine[:, places.ranges[peer]] = products[: len(columns)]
            if targets is not None:
                crossed[places.ranges[peer]] = products[len(columns) :].transpose(1, 0, 2)
        for peer in later:
            peer_place = places.ranges[peer]
            target_count = settings.column_count if peer == settings.guest else 0
            shape = (peer_place.stop - peer_place.start + target_count, len(columns))
            opened = self.cross_products[peer].open_columns(f"{step}/products", shape, layout)
            mine[:, peer_place] = opened[: peer_place.stop - peer_place.start].transpose(1, 0, 2)
            if target_count:
                crossed[own_place] = opened[peer_place.stop - peer_place.start :].transpose(1, 0, 2)
        with self.stopwatch.measure(PLAIN):
            mine[:, own_place] = matmul_integers(columns, from_integers(np.ascontiguousarray(columns.T)))
            mine[:, 0] = self._times_ones(columns.T)
            if targets is None:
                return BatchProducts(mine, crossed[own_place])
            crossed[own_place] = matmul_integers(columns, from_integers(targets))
            crossed[0] = self._times_ones(targets)
            return BatchProducts(mine, crossed)

    def _answer(self, step: str, peer: str, columns: IntArray, targets: IntArray | None) -> ShareArray:
        """This party's shares of its columns, and targets, with the peer's columns: (own + K, the peer's, 2)."""
        place = self.places.ranges[peer]
        count, row_count = place.stop - place.start, columns.shape[1]
        layout = layout_of_columns(self.scales, self.settings.key_bits, count, row_count)
        cross = self.cross_products[peer]
        matrix = columns if targets is None else np.concatenate([columns, targets.T])
        factors = cross.receive_columns(f"{step}/columns", (row_count, count), layout)
        masked = cross.answer_columns(f"{step}/products", matrix, factors, layout, count)
        with self.stopwatch.measure(PLAIN):
            return take_off_raise(masked, matrix, self.scales.feature_limit_bits)

    def _times_ones(self, values: IntArray) -> ShareArray:
        """Products of (rows, m) with the intercept's ones, which are 2^feature_bits: (m, 2)."""
        return shift_left(sum_along(from_integers(values), 0), self.scales.feature_bits)

    def _gather(self, step: str, number: int, mine: BatchProducts) -> BatchProducts:
        """All shares of a batch at a holder: its own, and the addends of quiet parties."""
        settings, size = self.settings, self.places.size
        total = BatchProducts(zero_shares((size, size)), zero_shares((size, settings.column_count)))
        if self.channel.party == settings.holders[0]:
            ones = len(self.own.batches[number]) << (2 * self.scales.feature_bits)
            total.products[0, 0] = constant(ones)
        self._add(total, self.channel.party, mine)
        for peer in settings.quiet_parties:
            message = self.channel.receive(peer, f"{step}/addends", ColumnAddendsMessage)
            place = self.places.ranges[peer]
            count = place.stop - place.start
            target_rows = size if peer == settings.guest else count
            products = checked_addend(message.products, (count, size), peer, step)
            targets = checked_addend(message.targets, (target_rows, settings.column_count), peer, step)
            with self.stopwatch.measure(PLAIN):
                self._add(total, peer, BatchProducts(products, targets))
        return total

    def _add(self, total: BatchProducts, party: str, part: BatchProducts) -> None:
        """Add what a party brings: its columns' rows of X^T X, the same as columns, and its rows of X^T y."""
        place = self.places.ranges[party]
        total.products[place] = add_shares(total.products[place], part.products)
        others = np.r_[0 : place.start, place.stop : self.places.size]
        mirrored = part.products[:, others].transpose(1, 0, 2)
        total.products[others, place] = add_shares(total.products[others, place], mirrored)
        rows = slice(0, self.places.size) if party == self.settings.guest else place
        total.targets[rows] = add_shares(total.targets[rows], part.targets)
