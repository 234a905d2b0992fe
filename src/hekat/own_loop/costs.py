"""What a loop cost: seconds by step and party, sealed bytes up and down, against plain float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hekat.protocol.role_session import RoleSession

FLOAT32_BYTES = 4


@dataclass(frozen=True)
class RoundRecord:
    """What one party knows of one finished call of `aggregate` or `sum`: aggregates only.

    `bounds`: by tensor, the clipping bound of value * weight / weight_max.
    """

    round: int
    value_count: int
    clipped_count: int
    weight_sum: int
    party_count: int
    bounds: dict[str, float]
    scaled_down_count: int = 0
    """Parties whose update was longer than `max_norm`, and was scaled down to it."""
    clear_count: int = 0
    """Values of each update that a mask left in the clear."""
    whole_count: int = 0
    """Values of all tensors that were summed; more than `value_count` where some stayed at home."""


@dataclass(frozen=True)
class PartyBytes:
    """Sealed bytes of one party for one round, all sums of it and what openers of sums need included.

    `up`: sent to the aggregator; `down`: received from it; `shares`: both ways between parties that open sums.
    """

    up: int
    down: int
    shares: int


@dataclass(frozen=True)
class RoundCost:
    """One call of `aggregate` of all parties.

    `value_count`: floats that a party sent; `clipped_count` of `value_count` times `party_count` met their bound.
    `bounds`: by tensor, the clipping bound of value * weight / weight_max.
    """

    round: int
    value_count: int
    party_count: int
    weight_sum: int
    clipped_count: int
    bounds: dict[str, float]
    bytes: dict[str, PartyBytes]
    scaled_down_count: int = 0
    """Updates that were longer than `max_norm`."""
    clear_count: int = 0
    """Values of each update that a mask left in the clear: the aggregator saw them, party by party."""
    whole_count: int = 0
    """Floats that were summed, with those that stayed at home; 0 where all were sent."""

    @property
    def float32_bytes(self) -> int:
        """What all of one party's values take as plain float32, each way."""
        return FLOAT32_BYTES * max(self.whole_count, self.value_count)

    @property
    def bits_per_value(self) -> float:
        """Bits up for each value, sealed and with all that goes beside them; the mean over the parties."""
        up = [part.up for part in self.bytes.values()]
        return 8 * sum(up) / (len(up) * self.value_count) if up else 0.0


@dataclass(frozen=True)
class Costs:
    """All rounds of a loop, in order; seconds by role and step, as on a machine to itself (roles take turns).

    Steps: "train" is the parties' own code; "encode", "encrypt", "decrypt", "decode", "aggregate", "deal" and the like
    are the protection; "send" and "open" seal messages. `wall_seconds` is the whole run.
    """

    rounds: tuple[RoundCost, ...]
    seconds: dict[str, dict[str, float]]
    wall_seconds: float

    @property
    def seconds_by_step(self) -> dict[str, float]:
        """Seconds over all roles, most first."""
        return sum_by_step(self.seconds)

    @property
    def up_bytes(self) -> int:
        """Sealed bytes to the aggregator, all parties and rounds."""
        return sum(part.up for one in self.rounds for part in one.bytes.values())

    @property
    def down_bytes(self) -> int:
        """Sealed bytes from the aggregator, all parties and rounds."""
        return sum(part.down for one in self.rounds for part in one.bytes.values())

    @property
    def float32_bytes(self) -> int:
        """The same updates as plain float32 one way, all parties and rounds."""
        return sum(one.float32_bytes * len(one.bytes) for one in self.rounds)

    @property
    def clipped_count(self) -> int:
        """Values that met their clipping bound, all parties and rounds."""
        return sum(one.clipped_count for one in self.rounds)

    @property
    def scaled_down_count(self) -> int:
        """Updates that were longer than `max_norm` and were scaled down to it, all parties and rounds."""
        return sum(one.scaled_down_count for one in self.rounds)

    @property
    def clear_count(self) -> int:
        """Values sent in the clear, all parties and rounds."""
        return sum(one.clear_count * one.party_count for one in self.rounds)

    @property
    def value_count(self) -> int:
        """Values sent, all parties and rounds."""
        return sum(one.value_count * one.party_count for one in self.rounds)


def sum_by_step(seconds: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Seconds by step over all roles, most first."""
    total: dict[str, float] = {}
    for steps in seconds.values():
        for step, value in steps.items():
            total[step] = total.get(step, 0.0) + value
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def cost_rounds(
    records: Sequence[RoundRecord], sessions: Mapping[str, RoleSession], aggregator: str
) -> tuple[RoundCost, ...]:
    """The cost of each finished round, from the parties' sessions."""
    found: dict[int, dict[str, PartyBytes]] = {record.round: {} for record in records}
    for party, session in sessions.items():
        for number, part in _by_round(session, aggregator).items():
            if number in found:
                found[number][party] = part
    return tuple(
        RoundCost(
            round=record.round,
            value_count=record.value_count,
            party_count=record.party_count,
            weight_sum=record.weight_sum,
            clipped_count=record.clipped_count,
            bounds=record.bounds,
            bytes=found[record.round],
            clear_count=record.clear_count,
            scaled_down_count=record.scaled_down_count,
            whole_count=record.whole_count,
        )
        for record in sorted(records, key=lambda record: record.round)
    )


def _by_round(session: RoleSession, aggregator: str) -> dict[int, PartyBytes]:
    totals: dict[int, list[int]] = {}
    for (peer, step), traffic in session.traffic.items():
        group = step.split("/")[0]
        if not group.startswith("round-"):
            continue
        total = totals.setdefault(int(group.removeprefix("round-")), [0, 0, 0])
        if peer == aggregator:
            total[0] += traffic.sent_bytes
            total[1] += traffic.received_bytes
        else:
            total[2] += traffic.sent_bytes + traffic.received_bytes
    return {number: PartyBytes(*total) for number, total in totals.items()}
