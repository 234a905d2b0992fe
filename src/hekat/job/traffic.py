"""Sealed bytes of a role: of the whole run, and of one sum with what the openers of sums need apart."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.channel import SealedChannel


@dataclass(frozen=True)
class Traffic:
    """Sealed bytes of one role, hellos and signatures included."""

    sent_bytes: int
    received_bytes: int


@dataclass(frozen=True)
class SumTraffic:
    """Sealed bytes of one party for one round's sum: what the aggregator gets and gives, and what openers do."""

    up_bytes: int = 0
    down_bytes: int = 0
    to_openers_bytes: int = 0
    from_openers_bytes: int = 0


def traffic_of(sealed: SealedChannel) -> Traffic:
    """All that this role sent and received."""
    return Traffic(sealed.bytes_sent, sealed.bytes_received)


def sum_traffic_of(sealed: SealedChannel, aggregator: str, round_number: int) -> SumTraffic:
    """What the sum of that round took; the histogram of exponents before the first one is a sum of its own."""
    step = f"round-{round_number}/"
    totals = {True: [0, 0], False: [0, 0]}
    for (peer, name), traffic in sealed.traffic.items():
        if name.startswith(step) and not name.startswith(f"{step}exponents/"):
            total = totals[peer == aggregator]
            total[0] += traffic.sent_bytes
            total[1] += traffic.received_bytes
    return SumTraffic(*totals[True], *totals[False])
