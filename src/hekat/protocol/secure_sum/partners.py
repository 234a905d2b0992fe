"""Who talks with whom in a run of sums: where there are many parties, most pairs of them never do.

Up to MOST_IN_PAIRS parties compare their final models in pairs, and a session gives all pairs their keys as it opens.
In a run of more parties the aggregator talks with everybody, and every party sends the key authority or the committee's
members what they open sums with; what they release goes by the aggregator. So a session gives a direction of a pair its
key once the start-up told who the members are.
"""

from __future__ import annotations

from collections.abc import Collection

from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.agreement.final_model import goes_by_aggregator
from hekat.protocol.secure_sum.settings import SumSettings


def pairs_begin_later(settings: SumSettings) -> bool:
    """Whether the run's session opens without keys of pairs, and all roles call `settle_partners`."""
    return goes_by_aggregator(settings)


def settle_partners(
    channel: RecordedChannel,
    settings: SumSettings,
    members: Collection[str] | None = (),
    *,
    timeout_s: float | None = None,
) -> None:
    """The last of a role's start-up: it gives its partners keys and takes theirs; from now on no other pair begins.

    Every role waits for its partners alone, and has sent what they wait for before: so nobody waits in a circle. A role
    that goes on from here was given all keys that it will need, and a later drop-out stops nobody's start-up. `members`
    is the committee, if any. Raises as `SealedChannel.settle_pairs`.
    """
    hearing_all = {settings.aggregator, settings.authority, *(members or ())}
    others = [name for name in settings.everyone if name != channel.party]
    to = [name for name in others if name in hearing_all or channel.party == settings.aggregator]
    of = [name for name in others if name == settings.aggregator or channel.party in hearing_all]
    channel.settle_pairs(to, of, timeout_s=timeout_s)
