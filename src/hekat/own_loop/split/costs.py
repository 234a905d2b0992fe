"""What an own loop of a split network cost: seconds by role and step, sealed bytes by role and epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hekat.own_loop.costs import sum_by_step
from hekat.own_loop.show_costs import Table, seconds_table, show_size
from hekat.protocol.role_session import RoleSession


@dataclass(frozen=True)
class SplitEpochCost:
    """One epoch: sealed bytes that each role sent, and the share of its numbers that were cut to their range."""

    epoch: int
    sent_bytes: dict[str, int]
    cut_shares: dict[str, float]


@dataclass(frozen=True)
class SplitCosts:
    """All epochs of a loop, in order; seconds by role and step, as on a machine to itself (roles take turns).

    Steps: "train" is the parties' own code; "keys", "encrypt", "products", "decrypt" and "plain" are the protection;
    "send" and "open" seal messages. `sent_bytes` are all that each role sent, `evaluate` and the start included.
    """

    epochs: tuple[SplitEpochCost, ...]
    seconds: dict[str, dict[str, float]]
    sent_bytes: dict[str, int]
    wall_seconds: float

    @property
    def seconds_by_step(self) -> dict[str, float]:
        """Seconds over all roles, most first."""
        return sum_by_step(self.seconds)


def cost_epochs(
    cut_shares: Mapping[int, Mapping[str, float]], sessions: Mapping[str, RoleSession]
) -> tuple[SplitEpochCost, ...]:
    """The cost of each finished epoch; `cut_shares` by epoch and role."""
    sent = {role: _by_epoch(session) for role, session in sessions.items()}
    return tuple(
        SplitEpochCost(epoch, {role: sent[role].get(epoch, 0) for role in sessions}, dict(cut_shares[epoch]))
        for epoch in sorted(cut_shares)
    )


def tables_of(costs: SplitCosts) -> list[Table]:
    """Seconds by role and step, and bytes by role."""
    columns = ["role", "first epoch", "last epoch", "all"]
    first, last = (costs.epochs[0], costs.epochs[-1]) if costs.epochs else (None, None)
    rows = [
        [
            role,
            *("" if epoch is None else show_size(epoch.sent_bytes[role]) for epoch in (first, last)),
            show_size(total),
        ]
        for role, total in costs.sent_bytes.items()
    ]
    return [
        seconds_table(costs.seconds, costs.seconds_by_step, costs.wall_seconds),
        ("Sealed bytes that each role sent", columns, rows),
    ]


def _by_epoch(session: RoleSession) -> dict[int, int]:
    totals: dict[int, int] = {}
    for (_, step), traffic in session.traffic.items():
        group = step.split("/")[0]
        if group.startswith("epoch-"):
            number = int(group.removeprefix("epoch-"))
            totals[number] = totals.get(number, 0) + traffic.sent_bytes
    return totals
