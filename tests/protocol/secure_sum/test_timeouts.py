"""How long roles wait: for peers less long than the aggregator waits for oneself, for the aggregator longest."""

from __future__ import annotations

import pytest

from hekat.protocol.secure_sum import timeouts
from hekat.protocol.secure_sum.timeouts import Deadline, PeerWait, aggregator_timeout_of


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until `clock[0]` is set."""
    now = [1000.0]
    monkeypatch.setattr(timeouts.time, "monotonic", lambda: now[0])
    return now


def test_messages_share_one_span_of_time(clock) -> None:
    deadline = Deadline(30.0)
    assert deadline.left_s == 30.0
    clock[0] += 29.0
    assert deadline.left_s == 1.0
    clock[0] += 5.0
    assert 0 < deadline.left_s < 0.01, "what is there already can still be received"


def test_without_a_time_each_message_has_the_channels(clock) -> None:
    assert Deadline(None).left_s is None
    assert PeerWait(None, 5).left_s is None


@pytest.mark.parametrize("party_count", [2, 3, 8, 256])
def test_peers_are_given_up_before_oneself_is(party_count, clock) -> None:
    step_timeout_s = 60.0
    whole_s = aggregator_timeout_of(step_timeout_s, party_count)
    assert PeerWait(whole_s, party_count).left_s < step_timeout_s
    # The aggregator may wait for every party's shares, then for every upload, before it answers.
    assert whole_s > 2 * party_count * step_timeout_s
