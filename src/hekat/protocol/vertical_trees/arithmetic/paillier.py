"""Sums under the guest's Paillier key: every row is encrypted once a tree, and hosts keep the ciphertexts.

The integers of a row and tree stand side by side in one ciphertext. At the root the guest sends the ciphertexts of all
rows; at the levels below it sends nothing, since hosts know which rows are asked. Where the partition is hidden, rows
have other integers at every level, of many nodes at once: the guest encrypts them anew, as many as fit into one
ciphertext.

The key comes with its maker's proof that re-randomising hides everything but the sums (`hekat.scheme.paillier`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.errors import BoundError, InputError, ProtocolError
from hekat.ledger import Ledger
from hekat.protocol.vertical.key_size import check_key_size
from hekat.protocol.vertical_trees.arithmetic.interface import Digits, Exchange, IntArray, finished_nodes
from hekat.scheme.paillier import Ciphertexts, KeyPair, PublicKey, add
from hekat.scheme.paillier.bin_sums import (
    BinSumLayout,
    bin_sum_layout,
    encrypt_rows,
    open_sums,
    pack_sums,
    sum_bins,
)
from hekat.wire import from_bytes, to_bytes

# Small enough that encryption, the line and the sums of several hosts work at the same time.
ROWS_AT_ONCE = 1 << 13
# The ciphertexts of a sum at work: of a block's columns so far, of the block, of all blocks, and as they are packed.
SUM_COPIES = 4
# The ciphertexts of a row: as they came, in blocks, and put together.
ROW_COPIES = 2


@dataclass(frozen=True)
class _RowCiphertexts:
    """How a row's integers lie in `group_count` ciphertexts of one layout, one after the other."""

    layout: BinSumLayout
    group_count: int

    @classmethod
    def of(cls, public: PublicKey, exchange: Exchange, component_count: int, is_hidden: bool) -> _RowCiphertexts:
        """One ciphertext for each tree; where the partition is hidden, as many integers in each as it holds.

        Raises BoundError where the key has no room for one tree's.
        """
        lows, highs = (tuple(ends) for ends in zip(*exchange.ranges[:component_count], strict=True))
        layout = bin_sum_layout(public, lows, highs, exchange.most_rows)
        units = len(exchange.ranges) // component_count
        together = min(units, layout.slots) if is_hidden else 1
        if together > 1:
            layout = bin_sum_layout(public, lows * together, highs * together, exchange.most_rows)
        return cls(layout, -(-units // together))

    def spread(self, values: IntArray) -> IntArray:
        """Integers (rows, components) as (rows * group_count, components of one ciphertext); what is left over is 0."""
        wide = np.zeros((len(values), self.group_count * self.layout.component_count), np.int64)
        wide[:, : values.shape[1]] = values
        return wide.reshape(-1, self.layout.component_count)


class _Side:
    """What both halves know: in which levels gradients go out, and how they lie in ciphertexts."""

    def __init__(self, component_count: int, is_hidden: bool) -> None:
        self._component_count, self._is_hidden = component_count, is_hidden

    def _begin(self, public: PublicKey, exchange: Exchange) -> None:
        self._exchange = exchange
        if self._is_encrypted(exchange):
            self._form = _RowCiphertexts.of(public, exchange, self._component_count, self._is_hidden)

    def _is_encrypted(self, exchange: Exchange) -> bool:
        return self._is_hidden or exchange.level == 0

    @property
    def _groups_asked(self) -> int:
        """The ciphertexts that answer for one bin: at the root all of a row, below it one for the tree."""
        return self._form.group_count if self._is_encrypted(self._exchange) else 1

    def cuts(self, exchange: Exchange) -> list[tuple[int, int]]:
        """Blocks of rows with ciphertexts, or one that stands for all rows and has none."""
        count = exchange.rows.size
        if not count or not self._is_encrypted(exchange):
            return [(0, count)]
        return [(start, min(count, start + ROWS_AT_ONCE)) for start in range(0, count, ROWS_AT_ONCE)]


class PaillierGuest(_Side):
    """The guest's half: holds the private key.

    `component_count`: integers of a row and tree. `is_hidden`: hosts do not hear which rows are in which node.
    """

    def __init__(self, keys: KeyPair, component_count: int, is_hidden: bool) -> None:
        super().__init__(component_count, is_hidden)
        self._keys, self._is_key_sent = keys, False

    def begin_level(self, exchange: Exchange, values: IntArray) -> bytes:
        self._begin(self._keys.public, exchange)
        if self._is_encrypted(exchange):
            self._values = self._form.spread(values)
        if self._is_key_sent:
            return b""
        self._is_key_sent = True
        return to_bytes(self._keys.public)

    def block(self, cut: tuple[int, int]) -> bytes:
        if not self._is_encrypted(self._exchange):
            return b""
        start, end = (place * self._form.group_count for place in cut)
        return to_bytes(encrypt_rows(self._keys.private, self._values[start:end], self._form.layout))

    def open(self, first: int, bin_counts: IntArray, data: bytes, sender: str) -> IntArray:
        exchange, layout = self._exchange, self._form.layout
        row_counts = exchange.row_counts[first : first + bin_counts.size]
        rows = np.repeat(row_counts, bin_counts * self._groups_asked)
        if not rows.size:
            _check_empty(data, sender)
            return np.zeros((0, len(exchange.ranges)), np.int64)
        packed = _read(data, self._keys.public, layout.packed_shape(rows.size)[0], sender)
        try:
            opened = open_sums(self._keys.private, packed, layout, rows, rows.size)
        except (BoundError, InputError) as error:
            raise ProtocolError(
                f"{sender} sent sums that cannot be",
                expected="sums within the rows of their node times the range of one row",
                got="ciphertexts that hold something else",
                cure="find out what runs there: this release does not send such numbers",
            ) from error
        return opened.reshape(int(bin_counts.sum()), -1)[:, : len(exchange.ranges)]


class PaillierHost(_Side):
    """A host's half: holds the guest's public key, once it is shown to be sound. Arguments as the guest's."""

    def __init__(self, key_bits: int, component_count: int, is_hidden: bool, ledger: Ledger) -> None:
        super().__init__(component_count, is_hidden)
        self._key_bits, self._ledger = key_bits, ledger
        self._public: PublicKey | None = None

    def working_bytes(self, exchange: Exchange, bin_counts: IntArray, sender: str) -> int:
        """Ciphertexts of all rows, and of sums: as many for each node as the one of most bins has."""
        units = len(exchange.ranges) // self._component_count
        sums = bin_counts.size * int(bin_counts.max(initial=0)) * SUM_COPIES
        rows = exchange.rows.size * ROW_COPIES if self._is_encrypted(exchange) else 0
        return (sums + rows) * units * self._key_bits // 4

    def begin_level(self, exchange: Exchange, key: bytes, bin_counts: IntArray, sender: str) -> None:
        """Begin a level. Raises KeyRefusedError for a key without proof or of another size, ProtocolError for a second
        one or none.
        """
        if bool(key) == (self._public is not None):
            raise ProtocolError(
                f"{sender} sent {'another' if key else 'no'} key",
                expected="one key, before the first sums of a run",
                got="a second one" if key else "none",
                cure="find out what runs there: this release sends one key for a run",
            )
        if self._public is None:
            public = from_bytes(key, PublicKey)
            check_key_size(public, self._key_bits, sender)
            self._public = public
            told = f"adds up under {sender}'s Paillier key {public.fingerprint[:8]}, shown to be sound; answers by r^n"
            self._ledger.note("setup", told, "public")
        self._begin(self._public, exchange)
        self._bin_counts = bin_counts
        cuts = self.cuts(exchange)
        self._blocks = list(zip(cuts, finished_nodes(exchange, cuts), strict=True))[::-1]
        self._sums: Ciphertexts | None = None
        if self._is_encrypted(exchange):
            self._received: list[Ciphertexts] = []
            # Where each row's ciphertexts will stand.
            self._places = np.full(int(exchange.rows.max(initial=-1)) + 1, -1, np.int64)
            self._places[exchange.rows] = np.arange(exchange.rows.size)

    def answer(self, block: bytes, digits: Digits, sender: str) -> bytes:
        (start, end), (first, last) = self._blocks.pop()
        rows, positions = self._take(block, start, end, sender)
        starts = np.clip(self._exchange.starts, start, end) - start
        most_bins, groups = int(self._bin_counts.max(initial=0)), self._groups_asked
        parts = [sum_bins(rows, digits, positions + group, starts, most_bins) for group in range(groups)]
        part = Ciphertexts.concatenate([one.reshape(1, -1) for one in parts])
        self._sums = part if self._sums is None else add(self._sums, part)
        # Node by node and bin by bin, the sums of all ciphertexts of a row.
        asked = [node * most_bins + np.arange(self._bin_counts[node]) for node in range(first, last)]
        bins = np.concatenate([np.zeros(0, np.int64), *asked])
        places = bins[:, np.newaxis] + np.arange(groups) * part.shape[1]
        return to_bytes(pack_sums(self._sums.take(places.ravel()), self._form.layout)) if places.size else b""

    def _take(self, block: bytes, start: int, end: int, sender: str) -> tuple[Ciphertexts, IntArray]:
        """Ciphertexts, and where among them the first of each row of a block stands."""
        exchange, groups = self._exchange, self._form.group_count
        assert self._public is not None  # since begin_level
        if self._is_encrypted(exchange):
            rows = _read(block, self._public, (end - start) * groups, sender)
            self._received.append(rows)
            return rows, np.arange(end - start, dtype=np.int64) * groups
        _check_empty(block, sender)
        if len(self._received) > 1:
            self._received = [Ciphertexts.concatenate(self._received)]
        trees = np.repeat(exchange.trees, exchange.row_counts)
        return self._received[0], self._places[exchange.rows] * groups + trees


def _read(data: bytes, public: PublicKey, count: int, sender: str) -> Ciphertexts:
    """Raises WireError for what is no ciphertexts under the key, ProtocolError for another number."""
    values = from_bytes(data, Ciphertexts, public_key=public)
    if values.shape != (count,):
        raise ProtocolError(
            f"{sender} sent another number of ciphertexts",
            expected=str(count),
            got=f"shape {values.shape}",
            cure="all parties must run the same job and release, on the same rows",
        )
    return values


def _check_empty(data: bytes, sender: str) -> None:
    if data:
        raise ProtocolError(f"{sender} sent ciphertexts that nobody asked for", expected="none", got="some")
