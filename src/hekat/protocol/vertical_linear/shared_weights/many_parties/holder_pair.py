"""The two holders among three parties or more, as one of them sees both."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.shared_weights.handshake import Meeting, make_truncation
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.scales import Scales


def make_holder_pair(
    channel: RecordedChannel,
    holders: Sequence[str],
    meeting: Meeting,
    scales: Scales,
    stopwatch: Stopwatch,
    *,
    key_bits: int,
    target_count: int,
) -> Pair:
    """The pair of holders, with all other columns as quiet ones; `channel.party` is one of the two."""
    first, second = holders
    is_first = channel.party == first
    counts = meeting.column_counts
    return Pair(
        is_guest=is_first,
        guest_columns=counts[first],
        host_columns=counts[second],
        target_count=target_count,
        key_bits=key_bits,
        cross_products=meeting.cross_products[second if is_first else first],
        truncation=make_truncation(channel, is_first=is_first),
        scales=scales,
        stopwatch=stopwatch,
        quiet_columns=sum(count for name, count in counts.items() if name not in holders),
    )
