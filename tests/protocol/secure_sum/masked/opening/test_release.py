"""The rules of a release: refused for sets that break one, and for a second set of a step.

They are played by themselves here; what members really do, and in which order, is in `lattice/test_release_order.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.errors import ProtocolError, StateError
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet
from hekat.protocol.secure_sum.masked.opening.release_record import ReleaseRecord

MakeRound = Callable[..., Any]


@pytest.fixture
def record(tmp_path: Path) -> ReleaseRecord:
    return ReleaseRecord.create(tmp_path / "releases")


@pytest.fixture
def this(make_round: MakeRound) -> Any:
    return make_round(7, seed=76)


def refused(this: Any, included: IncludedSet, record: ReleaseRecord, match: str) -> None:
    before = record._path.read_bytes()
    with pytest.raises(ProtocolError, match=match):
        this.release("party-1", included, record)
    assert record._path.read_bytes() == before


def test_a_set_with_other_shares_than_the_checked_ones_is_refused(
    this: Any, record: ReleaseRecord, make_round: MakeRound
) -> None:
    again = make_round(7, seed=76)  # the same parties deal anew, and sign that
    uploads = [this.upload(p) for p in this.parties[:5]] + [again.upload("party-5")]
    refused(this, IncludedSet(this.context, tuple(uploads)), record, "other shares of 'party-5'")


def test_nothing_is_released_without_the_record(this: Any, tmp_path: Path) -> None:
    with pytest.raises(StateError):
        this.release("party-1", this.included(), ReleaseRecord(tmp_path / "gone"))


def test_two_sets_in_one_step_are_refused_also_after_a_restart(
    this: Any, record: ReleaseRecord, make_round: MakeRound
) -> None:
    first = this.release("party-1", this.included(this.parties[:6]), record)
    assert np.array_equal(this.release("party-1", this.included(this.parties[:6]), record), first)
    refused(this, this.included(this.parties[:5]), record, "another set was released for in 'round-1'")
    # After a restart: another session, another number, the same step of the same job.
    restarted = make_round(7, seed=77, number=5, session=b"t" * 32)
    opened = ReleaseRecord.open(record._path)
    refused(restarted, restarted.included(this.parties[:5]), opened, "another set was released for in")
    refused(restarted, restarted.included(), opened, "another set was released for in")
    # The same parties may try again, and the next step is another matter.
    restarted.release("party-1", restarted.included(this.parties[:6]), opened)
    later = make_round(7, seed=78, number=6, step="round-2")
    later.release("party-1", later.included(this.parties[:5]), opened)
