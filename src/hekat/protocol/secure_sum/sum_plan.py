"""The groups of sums that a job asks for, known to every role before the first sum."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.protocol.secure_sum.participation import Participation


@dataclass(frozen=True)
class SumPlan:
    """`groups`: the groups of all sums of the job, in their order; `ahead`: the groups that a run beginning now still
    needs.

    A group is the steps whose sums are of the same updates: "standardise", "round-3".
    """

    groups: tuple[str, ...]
    ahead: tuple[str, ...]


def samples_ahead(plan: SumPlan, participation: Participation) -> dict[str, tuple[str, ...]]:
    """By group ahead, the parties that are to upload in it."""
    return {group: participation.parties_in(group) for group in plan.ahead}
