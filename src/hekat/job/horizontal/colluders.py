"""How many parties may work with the aggregator before it opens an update, as terms and reports say it."""

from __future__ import annotations

from hekat.protocol.secure_sum.masked.opening.committee import equivocation_bound
from hekat.protocol.secure_sum.masked.opening.opening_schemes import committee_of, members_for_sizes
from hekat.protocol.secure_sum.settings import SumSettings


def colluders_borne(settings: SumSettings) -> tuple[int, int]:
    """How many parties in all an update is protected from, working with the aggregator, and how many of them members.

    Both limits hold at once: 2t - c - 1 members, and u_min - 2 parties, with the u_min of a round's sample. For
    opening `committee`. Source: docs/spec/committee.md, Sizes.
    """
    committee = committee_of(settings, members_for_sizes(settings))
    members = max(0, equivocation_bound(len(committee.members), committee.threshold))
    parties = max(0, committee.least_included - 2)
    if len(committee.members) == len(committee.parties):
        parties = min(members, parties)  # every party is a member
    return parties, min(members, parties)


def say_colluders(settings: SumSettings) -> str:
    """The same in words, behind "the aggregator"."""
    parties, members = colluders_borne(settings)
    if not parties:
        return "alone"
    limit = f"together with up to {parties} {'party' if parties == 1 else 'parties'}"
    return limit if members == parties else f"{limit}, up to {members} of them members"
