"""Sums under ring LWE in windows: encrypted gradients in blocks, sums by bin that show nothing but themselves."""

from __future__ import annotations

from hekat.errors import BoundError, HekatError, InputError, ProtocolError
from hekat.protocol.vertical_trees.arithmetic.interface import Digits, Exchange, IntArray
from hekat.scheme.bin_sums import (
    BINS,
    BinSummer,
    KeyPair,
    PublicKey,
    SumLayout,
    conceal,
    encrypt_rows,
    generate_keys,
    open_answers,
    working_bytes,
)
from hekat.wire import from_bytes, to_bytes
from hekat.wire.bin_sums import read_answers, read_rows, write_answers, write_rows


class LatticeGuest:
    """The guest's half: a key pair for each tree, fresh seeds for each block.

    Trees of several classes that grow together have a key pair for each level; so has a level that takes more integers
    of a row than the last key has secrets for, where the partition is hidden.
    """

    def __init__(self, tree_count: int) -> None:
        self._tree_count = tree_count
        self._keys: KeyPair | None = None

    def begin_level(self, exchange: Exchange, values: IntArray) -> bytes:
        self._exchange, self._values, self._layout = exchange, values, layout_of(exchange)
        kept, components = self._keys, len(exchange.ranges)
        if kept and exchange.level and self._tree_count == 1 and kept.public.components >= components:
            return b""
        self._keys = generate_keys(components)
        return to_bytes(self._keys.public)

    def cuts(self, exchange: Exchange) -> list[tuple[int, int]]:
        return cut_rows(exchange, layout_of(exchange))

    def block(self, cut: tuple[int, int]) -> bytes:
        return write_rows(encrypt_rows(self._pair.private, self._values[slice(*cut)], self._layout))

    def open(self, first: int, bin_counts: IntArray, data: bytes, sender: str) -> IntArray:
        rows = self._exchange.row_counts[first : first + bin_counts.size]
        answers = read_answers(data, self._pair.public, self._layout, first, bin_counts)
        try:
            return open_answers(self._pair.private, answers, rows)
        except InputError as error:
            raise ProtocolError(
                f"{sender} sent sums that cannot be", expected=error.expected, got=error.got, cure=error.cure
            ) from None

    @property
    def _pair(self) -> KeyPair:
        assert self._keys is not None
        return self._keys


class LatticeHost:
    """A host's half: it multiplies encrypted rows with its digits, and hides all but the sums."""

    def __init__(self) -> None:
        self._key: PublicKey | None = None

    def working_bytes(self, exchange: Exchange, bin_counts: IntArray, sender: str) -> int:
        try:
            return working_bytes(layout_of(exchange), exchange.starts, bin_counts)
        except (InputError, BoundError) as error:
            raise _no_layout(error, sender) from None

    def cuts(self, exchange: Exchange) -> list[tuple[int, int]]:
        return cut_rows(exchange, layout_of(exchange))

    def begin_level(self, exchange: Exchange, key: bytes, bin_counts: IntArray, sender: str) -> None:
        if key:
            self._key = from_bytes(key, PublicKey)
        if self._key is None:
            raise ProtocolError(f"{sender} sent no key", expected="a public key at the root of a tree", got="none")
        try:
            self._layout = layout_of(exchange)
            self._summer = BinSummer(self._key, self._layout, exchange.starts, bin_counts)
        except (InputError, BoundError) as error:
            raise _no_layout(error, sender) from None

    def answer(self, block: bytes, digits: Digits, sender: str) -> bytes:
        assert self._key is not None
        rows = read_rows(block, self._key, self._layout)
        if rows.row_count != digits.shape[1]:
            raise ProtocolError(
                f"{sender} sent gradients of another number of rows",
                expected=f"{digits.shape[1]:,} rows",
                got=f"{rows.row_count:,}",
                cure="all parties must run the same job and release, on the same rows",
            )
        return write_answers(conceal(self._summer.add(rows, digits), self._layout))


def layout_of(exchange: Exchange) -> SumLayout:
    """How the sums of a level lie in rings. Raises InputError for an impossible window, BoundError without room."""
    return SumLayout(BINS, exchange.window, exchange.most_rows, exchange.ranges)


def _no_layout(error: HekatError, sender: str) -> ProtocolError:
    return ProtocolError(f"{sender} asks for sums that cannot be laid out", expected=error.expected, got=error.got)


def cut_rows(exchange: Exchange, layout: SumLayout) -> list[tuple[int, int]]:
    """Blocks of as many rows as go at once."""
    count, step = exchange.rows.size, layout.rows_at_once
    return [(start, min(count, start + step)) for start in range(0, count, step)]
