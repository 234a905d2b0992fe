"""Lists of 32-byte rows, sent in parts, and the checks of every part that comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hekat.errors import ProtocolError
from hekat.protocol.psi.messages import AnsweredPointsMessage, MaskedPointsMessage, TagsMessage
from hekat.protocol.psi.pair import WAIT_S, Pair
from hekat.protocol.psi.rows import Digests, count_repeats

RowsMessage = type[MaskedPointsMessage] | type[AnsweredPointsMessage] | type[TagsMessage]

ROW_BYTES: Final = 32
PART_ROWS: Final = 8192


def parts_of(count: int) -> Iterator[slice]:
    """The parts of a list of `count` rows, in the order in which they are sent; both sides know them."""
    for start in range(0, count, PART_ROWS):
        yield slice(start, min(start + PART_ROWS, count))


def send_rows(pair: Pair, step: str, kind: RowsMessage, rows: Digests) -> None:
    """Send a whole list (count, 32)."""
    for part in parts_of(len(rows)):
        pair.channel.send(pair.peer, step, kind(rows=rows[part]))


def receive_rows(pair: Pair, step: str, kind: RowsMessage, count: int) -> Iterator[Digests]:
    """Receive the parts (rows, 32) of a list of `count` rows. Raises ProtocolError for a part of another shape."""
    for part in parts_of(count):
        message = pair.channel.receive(pair.peer, step, kind, timeout_s=WAIT_S)
        rows: Digests = message.rows
        expected = (part.stop - part.start, ROW_BYTES)
        if rows.shape != expected:
            raise refuse(pair, f"a part of its list of another size in step {step}", str(expected), str(rows.shape))
        yield rows


def check_distinct(pair: Pair, rows: Digests, what: str) -> None:
    """Raise ProtocolError where a list repeats a row: honest lists never do, and repeats would mark ids."""
    repeats = count_repeats(rows)
    if repeats:
        raise refuse(pair, f"{what} that repeat", f"{len(rows):,} different ones", f"{repeats:,} too many")


def refuse(pair: Pair, what: str, expected: str, got: str) -> ProtocolError:
    """The error for a peer that sent `what`; it describes what came and never quotes it."""
    return ProtocolError(
        f"party {pair.peer} sent {what}",
        expected=expected,
        got=got,
        cure=f"do not go on with {pair.peer} before its side is looked at",
    )
