"""The result of a comparison of two lists, and how the asker tells the answerer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np

from hekat.errors import ProtocolError
from hekat.protocol.psi.ids import Ids
from hekat.protocol.psi.messages import CommonCountMessage, CommonRowsMessage
from hekat.protocol.psi.pair import WAIT_S, Pair
from hekat.protocol.psi.rows import Positions, sort_rows
from hekat.protocol.psi.transfer import refuse

ROWS_STEP, COUNT_STEP = "common-rows", "common-count"
_DOMAIN: Final = b"hekat/psi/common/1"


@dataclass(frozen=True)
class MatchedRows:
    """Rows of the asker that the answerer has too, each with its place in the answerer's list.

    Where only the number is to be learnt, the rows stand in an order that only the answerer knows, and mean nothing.
    """

    rows: Positions
    places: Positions


def check_rows(pair: Pair, rows: Positions, ids: Ids) -> None:
    """Raise ProtocolError where padding counts as common: no honest peer can have this party's padding."""
    if rows.size and int(rows.max()) >= len(ids):
        raise refuse(
            pair,
            "a list that meets this party's padding",
            "nothing common beside ids",
            f"{np.count_nonzero(rows >= len(ids)):,} others",
        )


def in_stable_order(rows: Positions, ids: Ids) -> Positions:
    """Sort rows by the digests of their ids: the same order at every party, whatever the order of its table."""
    return rows[sort_rows(ids.digests[rows])]


def tell_rows(pair: Pair, places: Positions, common: Positions, ids: Ids) -> None:
    """Tell the answerer which places of its list are common to all; `common` are the asker's rows in stable order."""
    flags = np.zeros(pair.peer_count, dtype=np.uint8)
    flags[places] = 1
    message = CommonRowsMessage(places=np.packbits(flags), set_digest=_digest_set(pair, common, ids))
    pair.channel.send(pair.peer, ROWS_STEP, message)


def hear_rows(pair: Pair, order: Positions, ids: Ids) -> Positions:
    """Receive the common rows from the asker, in stable order; `order` has the row at each place of the sent list.

    Raises ProtocolError for places of another list, places of padding, and ids that the asker does not have.
    """
    message = pair.channel.receive(pair.peer, ROWS_STEP, CommonRowsMessage, timeout_s=WAIT_S)
    expected_bytes = -(-len(order) // 8)
    if message.places.shape != (expected_bytes,):
        raise refuse(pair, "places of another list", f"{expected_bytes} bytes", f"shape {message.places.shape}")
    flags = np.unpackbits(message.places)
    if flags[len(order) :].any():
        raise refuse(pair, "places beyond the list", f"{len(order):,} places", "more")
    rows = order[np.flatnonzero(flags[: len(order)])]
    check_rows(pair, rows, ids)
    rows = in_stable_order(rows, ids)
    if message.set_digest != _digest_set(pair, rows, ids):
        raise ProtocolError(
            f"party {pair.peer} tells of common rows that it does not have",
            expected="the same common ids at both",
            got="others",
            cure=f"do not train with {pair.peer} before its side is looked at",
        )
    return rows


def tell_count(pair: Pair, count: int) -> None:
    """Tell the answerer how many rows are common."""
    pair.channel.send(pair.peer, COUNT_STEP, CommonCountMessage(count=np.array([count], dtype=np.int64)))


def hear_count(pair: Pair, ids: Ids) -> int:
    """Receive the number of common rows. Raises ProtocolError for a number that cannot be."""
    count = pair.channel.receive(pair.peer, COUNT_STEP, CommonCountMessage, timeout_s=WAIT_S).count
    if count.shape != (1,) or not 0 <= count[0] <= min(len(ids), pair.peer_count):
        raise refuse(pair, "a number of common rows that cannot be", f"0 to {len(ids):,}", "another")
    return int(count[0])


def _digest_set(pair: Pair, rows: Positions, ids: Ids) -> bytes:
    return hashlib.sha256(_DOMAIN + pair.context + ids.digests[rows].tobytes()).digest()
