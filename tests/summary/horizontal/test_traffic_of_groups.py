"""Bytes of further sums of a group, which are announced under one step for all of them, by kind of step."""

from __future__ import annotations

import pytest

from hekat.channel.traffic import Traffic, group_of, group_over_rounds
from hekat.protocol.role_session import RoleSession
from hekat.protocol.secure_sum.masked.group.announced_block import counted_step
from hekat.protocol.secure_sum.masked.leg import further_step
from hekat.protocol.secure_sum.masked.messages import UploadMessage
from hekat.summary.horizontal.traffic import sum_traffic_of, traffic_of

SUMS = {
    "standardise/spread": "standardise",
    "start/cut-1": "bins",
    "start/labels": "bins",
    "tree-3/level-2": "histograms",
    "tree-3/leaves": "leaves",
    "round-2": "sums",
    "round-2/exponents": "bounds",
    "fold-1/round-2": "sums",
    "fold-1/validation/scores": "validation",
}


def step_of_announcement(step: str) -> str:
    return counted_step(further_step(step), UploadMessage(step, "A16-16", 1, bytes(32), b"", 0))


def kinds_of(step: str) -> list[str]:
    session = RoleSession.__new__(RoleSession)
    session.traffic = {("hub", step): Traffic(sent_count=1, sent_bytes=5)}
    return list(traffic_of(session, "hub").by_step)


@pytest.mark.parametrize("grouping", [group_of, group_over_rounds])
@pytest.mark.parametrize(("step", "kind"), SUMS.items())
def test_a_party_counts_an_announcement_with_its_own_sum(step, kind, grouping) -> None:
    assert kinds_of(grouping(step_of_announcement(step))) == [kind]


@pytest.mark.parametrize("step", ["standardise/spread", "start/cut-1", "tree-3/level-2", "round-2", "fold-1/round-2"])
def test_the_aggregator_counts_all_announcements_of_a_group_alike(step) -> None:
    assert kinds_of(group_over_rounds(further_step(step))) == [SUMS[step]]


def test_what_a_round_of_a_fold_took_has_its_announcement() -> None:
    session = RoleSession.__new__(RoleSession)
    counts = {
        "fold-1/round-1/upload-4": 7,
        group_of(step_of_announcement("fold-1/round-2")): 11,
        "fold-1/round-2/upload-4": 3,
    }
    session.traffic = {("hub", step): Traffic(sent_count=1, sent_bytes=count) for step, count in counts.items()}
    assert sum_traffic_of(session, "hub", 2).up_bytes == 14
