"""The equivocation bound from both sides: how many dishonest members it takes to open two sets of one step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.committee import equivocation_bound, open_sum
from hekat.protocol.secure_sum.masked.opening.release_record import ReleaseRecord

DEGREE = 32
CASES = [3, 4, 5, 6, 7]


class Split:
    """An aggregator shows one set to some honest members and another to the rest; dishonest ones release for both."""

    def __init__(self, make_round: Callable[..., Any], member_count: int, folder: Path) -> None:
        self.this = make_round(member_count, seed=90 + member_count)
        # The bound is about members alone: of two sets that differ in one party, both are taken to be large enough.
        self.this.committee = replace(self.this.committee, least_included=member_count - 1)
        self.sets = self.this.included(), self.this.included(self.this.parties[:-1])
        self.folder = folder

    def releases(self, corrupt_count: int) -> tuple[dict[int, Any], dict[int, Any]]:
        """Share sums for both sets: the first gets as many honest members as it needs, the second the rest."""
        committee = self.this.committee
        got: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
        for point, name in enumerate(committee.members, start=1):
            if point <= corrupt_count:
                for index, included in enumerate(self.sets):
                    got[index][point] = self.this.sum_kept(name, included)
                continue
            record = ReleaseRecord.create(self.folder / name)
            first = 0 if point <= committee.threshold else 1
            got[first][point] = self.this.release(name, self.sets[first], record)
            with pytest.raises(ProtocolError, match="another set was released for"):  # the aggregator asks for both
                self.this.release(name, self.sets[1 - first], ReleaseRecord.open(self.folder / name))
        return got

    def opened(self, index: int, sums: dict[int, Any]) -> bool:
        parties = self.sets[index].parties
        try:
            total, _ = open_sum(sums, self.this.committee.threshold, len(parties), DEGREE)
        except ProtocolError:
            return False
        assert np.array_equal(total, self.this.sum_of_secrets(parties))
        return True


@pytest.mark.parametrize("member_count", CASES)
def test_at_the_bound_one_set_opens_and_not_the_other(
    make_round: Callable[..., Any], member_count: int, tmp_path: Path
) -> None:
    split = Split(make_round, member_count, tmp_path)
    bound = equivocation_bound(member_count, split.this.committee.threshold)
    first, second = split.releases(bound)
    assert split.opened(0, first)
    assert not split.opened(1, second)
    assert len(second) == split.this.committee.threshold - 1


@pytest.mark.parametrize("member_count", CASES)
def test_one_more_dishonest_member_opens_both(
    make_round: Callable[..., Any], member_count: int, tmp_path: Path
) -> None:
    split = Split(make_round, member_count, tmp_path)
    corrupt_count = equivocation_bound(member_count, split.this.committee.threshold) + 1
    first, second = split.releases(corrupt_count)
    assert split.opened(0, first)
    assert split.opened(1, second)


@pytest.mark.parametrize("member_count", CASES)
def test_no_way_to_split_honest_members_opens_both_at_the_bound(member_count: int) -> None:
    """Every way to send h honest members to the two sets, by counting."""
    threshold = 2 * member_count // 3 + 1
    for corrupt_count in range(member_count + 1):
        honest_count = member_count - corrupt_count
        both = any(
            corrupt_count + to_first >= threshold and corrupt_count + honest_count - to_first >= threshold
            for to_first in range(honest_count + 1)
        )
        assert both == (corrupt_count > equivocation_bound(member_count, threshold))
