"""The start-up of protection `none`: nothing is shared, and the party's ledger says what the aggregator sees."""

from __future__ import annotations

from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.partners import settle_partners
from hekat.protocol.secure_sum.plain.aggregator import PlainSummation
from hekat.protocol.secure_sum.plain.party import PlainAggregation
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.sum_run import AggregatorSumRun, PartySumRun


def join_plain(channel: RecordedChannel, settings: SumSettings, run: PartySumRun) -> tuple[PlainAggregation, bytes]:
    """A party's side, and no key."""
    channel.ledger.note("setup", "protection is NONE: the aggregator sees every update", "disclosed")
    settle_partners(channel, settings, timeout_s=run.aggregator_timeout_s)
    return PlainAggregation(channel, settings, run.stopwatch), b""


def start_plain(
    channel: RecordedChannel, settings: SumSettings, roster: Roster, run: AggregatorSumRun
) -> PlainSummation:
    """The aggregator's side."""
    settle_partners(channel, settings, timeout_s=run.step_timeout_s)
    return PlainSummation(channel, settings, run.stopwatch)
