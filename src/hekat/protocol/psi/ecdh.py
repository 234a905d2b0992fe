"""Set intersection by Diffie-Hellman: both parties multiply both lists, and equal ids end as equal points.

    1. each hashes its ids, and random values that fill its list up, to points of the curve
    2. each multiplies its list by a scalar of this run and sends it in a random order
    3. the answerer multiplies the asker's list by its own scalar and returns it in the order in which it came; where
       only the number is to be learnt, it returns the list in another random order
    4. the asker multiplies the answerer's list by its own scalar, and compares the two lists

Every point that is sent is a point times an unknown scalar, which tells nothing about the id (decisional
Diffie-Hellman).
Source: Meadows 1986; Huberman-Franklin-Hogg 1999.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from hekat.errors import InputError
from hekat.protocol.psi.curve import check_points, map_to_curve, multiply
from hekat.protocol.psi.ids import Ids
from hekat.protocol.psi.intersection_result import MatchedRows
from hekat.protocol.psi.messages import AnsweredPointsMessage, MaskedPointsMessage
from hekat.protocol.psi.pair import Pair
from hekat.protocol.psi.rows import Digests, Positions, draw_order, match_rows, random_rows
from hekat.protocol.psi.transfer import check_distinct, parts_of, receive_rows, refuse, send_rows

MASKED_STEP, ANSWERED_STEP = "masked-points", "answered-points"


def ask(pair: Pair, ids: Ids) -> MatchedRows:
    """The asker's side: its own common rows, and their places in the answerer's list.

    Raises ProtocolError for points that an honest peer does not send.
    """
    scalar = X25519PrivateKey.generate()
    order = _send_own(pair, ids, scalar)
    theirs = _multiply_theirs(pair, scalar)
    mine = np.concatenate(list(receive_rows(pair, ANSWERED_STEP, AnsweredPointsMessage, pair.own_count)))
    with pair.run.stopwatch.measure("compare"):
        check_distinct(pair, theirs, "points")
        check_distinct(pair, mine, "answers")
        list_places, their_places = match_rows(mine, theirs)
    return MatchedRows(order[list_places], their_places)


def answer(pair: Pair, ids: Ids, *, cardinality_only: bool) -> Positions:
    """The answerer's side: returns the row of its own that stands at each place of the list it sent.

    Raises ProtocolError for points that an honest peer does not send.
    """
    scalar = X25519PrivateKey.generate()
    order = _send_own(pair, ids, scalar)
    answers = _multiply_theirs(pair, scalar)
    with pair.run.stopwatch.measure("compare"):
        # This comes before a count tells anything: the asker would know a repeated point again in any order.
        check_distinct(pair, answers, "points")
    if cardinality_only:
        answers = answers[draw_order(len(answers))]
    send_rows(pair, ANSWERED_STEP, AnsweredPointsMessage, answers)
    return order


def _send_own(pair: Pair, ids: Ids, scalar: X25519PrivateKey) -> Positions:
    """Send the list of own ids and padding; returns the row at each place, or a number past all rows for padding."""
    order = draw_order(pair.own_count)
    digests = np.concatenate([ids.digests, random_rows(pair.own_count - len(ids))])
    for part in parts_of(pair.own_count):
        with pair.run.stopwatch.measure("hash"):
            points = map_to_curve(pair.context, digests[order[part]])
        with pair.run.stopwatch.measure("points"):
            masked = multiply(scalar, points)
        send_rows(pair, MASKED_STEP, MaskedPointsMessage, masked)
        pair.report("masking own ids", part.stop, pair.own_count)
    return order


def _multiply_theirs(pair: Pair, scalar: X25519PrivateKey) -> Digests:
    """Multiply the peer's list by the scalar, in the order in which it comes."""
    products = []
    received = receive_rows(pair, MASKED_STEP, MaskedPointsMessage, pair.peer_count)
    for part, rows in zip(parts_of(pair.peer_count), received, strict=True):
        try:
            with pair.run.stopwatch.measure("check points"):
                check_points(rows)
            with pair.run.stopwatch.measure("points"):
                products.append(multiply(scalar, rows))
        except InputError as error:
            raise refuse(pair, error.what, error.expected, error.got) from None
        pair.report(f"masking ids of {pair.peer}", part.stop, pair.peer_count)
    return np.concatenate(products)
