"""The roles of a set intersection: one party compares its set with every other set, and tells which rows are common.

    1. each party announces, to the parties that it compares with, a digest of the settings, the kinds of its id columns
       and the padded size of its set
    2. the guest compares with each host in turn (`ecdh`, `rsa_blind`), and learns what it has in common with that host
    3. the guest keeps the rows that it has in common with every host
    4. the guest tells each host that is a learner which of that host's rows are common to all

Where one host alone learns, the two exchange their roles: the host compares, and the guest learns nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.protocol.psi import ecdh, rsa_blind
from hekat.protocol.psi.ids import Ids
from hekat.protocol.psi.intersection_result import (
    MatchedRows,
    check_rows,
    hear_count,
    hear_rows,
    in_stable_order,
    tell_count,
    tell_rows,
)
from hekat.protocol.psi.pair import IntersectionRun, Pair, meet
from hekat.protocol.psi.rows import Positions
from hekat.protocol.psi.settings import IntersectionSettings

__all__ = ["Intersection", "IntersectionRun", "run_intersection"]

NOTE_STEP = "intersection"


@dataclass(frozen=True, eq=False)
class Intersection:
    """What this party learnt.

    Attributes:
        rows: The numbers of its own rows that all parties have, int64 (count,); place k is the same id at every party.
            None where the settings do not let it learn them.
        count: How many rows are common; None where the settings do not let it learn the number.
    """

    rows: Positions | None = field(repr=False)
    count: int | None


def run_intersection(
    channel: RecordedChannel, ids: Ids, settings: IntersectionSettings, run: IntersectionRun
) -> Intersection:
    """Play this party's role: compare `ids` with the other parties' ids.

    Args:
        channel: The party's open session with the others.
        ids: The ids of its rows.
        settings: What all parties agreed on.
        run: What the party's machine gives the role.

    Returns:
        What the settings let this party learn.

    Raises:
        InputError: the settings do not know the party, its set has one id, or ids are of another kind than a peer's.
        ProtocolError: a peer, which it names, has other settings or sends what no honest party sends.
        ChannelError: a peer left.
    """
    _check_party(channel, settings)
    check_size(ids, settings)
    if len(ids) == 1:
        channel.ledger.note(NOTE_STEP, "this party takes part with one id", "disclosed")
    asker = settings.hosts[0] if settings.roles_exchanged else settings.guest
    _note_learning(channel, settings, asker)
    if channel.party == asker:
        return _compare(meet(channel, ids, settings, run, asker), ids, settings)
    (pair,) = meet(channel, ids, settings, run, asker)
    return _answer(pair, ids, settings)


def _compare(pairs: list[Pair], ids: Ids, settings: IntersectionSettings) -> Intersection:
    matches = [_ask(pair, ids, settings) for pair in pairs]
    learners = [(pair, one) for pair, one in zip(pairs, matches, strict=True) if pair.peer in settings.learners]
    if settings.cardinality_only:
        count = len(matches[0].rows)
        for pair, _ in learners:
            tell_count(pair, count)
        return Intersection(None, count)
    for pair, one in zip(pairs, matches, strict=True):
        check_rows(pair, one.rows, ids)
    common = reduce(np.intersect1d, (one.rows for one in matches))
    common = in_stable_order(common, ids)
    for pair, one in learners:
        tell_rows(pair, one.places[np.isin(one.rows, common)], common, ids)
    return Intersection(common, len(common))


def _ask(pair: Pair, ids: Ids, settings: IntersectionSettings) -> MatchedRows:
    if settings.kind == "ecdh":
        return ecdh.ask(pair, ids)
    return rsa_blind.ask(pair, ids, key_bits=settings.key_bits)


def _answer(pair: Pair, ids: Ids, settings: IntersectionSettings) -> Intersection:
    if settings.kind == "ecdh":
        order = ecdh.answer(pair, ids, cardinality_only=settings.cardinality_only)
    else:
        order = rsa_blind.answer(pair, ids, key_bits=settings.key_bits)
    if pair.channel.party not in settings.learners:
        return Intersection(None, None)
    if settings.cardinality_only:
        return Intersection(None, hear_count(pair, ids))
    rows = hear_rows(pair, order, ids)
    return Intersection(rows, len(rows))


def _check_party(channel: RecordedChannel, settings: IntersectionSettings) -> None:
    if channel.party not in settings.parties:
        raise InputError(
            f"party {channel.party} has no part in this intersection",
            expected=f"one of: {', '.join(settings.parties)}",
            got=repr(channel.party),
            cure="name it as guest or as a host",
        )


def check_size(ids: Ids, settings: IntersectionSettings) -> None:
    """Raise InputError for a set of one id, unless the settings allow it."""
    if len(ids) == 1 and not settings.allow_single:
        raise InputError(
            f"{ids.name} has one id: its intersection would tell whether the others know one person",
            expected="at least 2 ids",
            got="1",
            cure="give it more rows, or set allow_single = true where asking about one person is what is meant",
        )


def _note_learning(channel: RecordedChannel, settings: IntersectionSettings, asker: str) -> None:
    """Note in the ledger what every party learns."""
    what = "how many rows are common" if settings.cardinality_only else "which of its rows are common to all parties"
    ledger = channel.ledger
    ledger.note(NOTE_STEP, f"by {settings.kind}; {', '.join(settings.learners)} learn {what}", "disclosed")
    if len(settings.hosts) > 1:
        ledger.note(NOTE_STEP, f"{asker} also learns which of its rows each single host has", "disclosed")
