"""Uploads bind what parties take for granted of each other: bounds and models that differ are not added up.

A careful aggregator leaves out who differs. One that told parties apart, and hides it, comes no further.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from hekat.channel import InProcessHub
from hekat.errors import ProtocolError, WireCorruptError
from hekat.protocol.secure_sum.agreement.messages import ClipMessage, RoundEndMessage
from hekat.protocol.secure_sum.masked import aggregator as masked_aggregator
from hekat.protocol.secure_sum.masked.messages import (
    DealtMessage,
    IncludedMessage,
    ReleasedMessage,
    SumBlockMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.scheme.lattice import SETS

# Far more than a test takes.
PATIENCE_S = 20.0
VICTIM = "c"
DACIQ = CodecSettings(clipping="daciq")
OTHER_FORM = "with another model, mask, bounds or counters than most"


def causes(rehearsal) -> set[type]:
    return {type(error.__cause__) for error in rehearsal.lost}


class Hiding:
    """An aggregator that takes every agreement for that of `a`, and tells the victim that all have the victim's.

    The victim is told its own agreement, and so looks at signatures.
    """

    def __init__(self, monkeypatch, change, *, tell_victim: bool) -> None:
        monkeypatch.setattr(masked_aggregator, "check_statement", lambda *others, **options: None)
        self._change, self._tell_victim = change, tell_victim
        self._agreements: dict[tuple[str, str], bytes] = {}

    def take(self, sender, step, message):
        if isinstance(message, RoundEndMessage):
            return replace(message, model_digest=bytes(32))
        if not isinstance(message, UploadMessage):
            return None
        self._agreements[step.rsplit("/", 1)[0], sender] = message.agreement
        return replace(message, agreement=self._agreements[step.rsplit("/", 1)[0], "a"])

    def change(self, to, step, message):
        if isinstance(message, IncludedMessage) and to == VICTIM and self._tell_victim:
            return replace(message, agreement=self._agreements[step.rsplit("/", 1)[0], VICTIM])
        return self._change(to, step, message)

    @property
    def differ(self) -> set[str]:
        """Uploads in which the victim's agreement was not that of `a`."""
        return {leg for leg, party in self._agreements if party == VICTIM and self._differs(leg)}

    def _differs(self, leg: str) -> bool:
        return self._agreements[leg, VICTIM] != self._agreements[leg, "a"]


# --- bounds ----------------------------------------------------------------------------------------------------------


def other_bounds(to, step, message):
    """Everybody but the victim is told such wide bounds that only the victim's values are left of the sum."""
    return ClipMessage(message.alpha * 2.0**30) if isinstance(message, ClipMessage) and to != VICTIM else None


def test_a_party_that_is_told_other_bounds_is_left_out_and_told(play, masked_settings) -> None:
    rehearsal, watch, error = play(other_bounds, settings=masked_settings(5, codec=DACIQ), exactness_check=False)
    assert error is None
    assert rehearsal.lost_names == [VICTIM]
    assert OTHER_FORM in rehearsal.reasons
    assert sorted(watch.opened_at) == list("abde")
    assert [record.party_count for record in rehearsal.records] == [4]


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_other_bounds_for_one_party_open_nothing_where_that_is_hidden(
    opening, play, masked_settings, monkeypatch
) -> None:
    hiding = Hiding(monkeypatch, other_bounds, tell_victim=True)
    settings = masked_settings(5, opening, codec=DACIQ)
    rehearsal, watch, error = play(hiding.change, take=hiding.take, settings=settings, exactness_check=False)
    assert hiding.differ == {"round-1/upload-0"}
    assert error is not None
    assert watch.opened_at == []
    assert watch.senders_of(ReleasedMessage) == []
    assert rehearsal.records == []
    # Every party refuses what was sent to it before the run ended, whoever ended it and when.
    assert sorted(rehearsal.lost_names) == list("abcde")
    assert causes(rehearsal) == {ProtocolError}
    assert "'c' did not sign" in rehearsal.reasons


@pytest.mark.parametrize("faster", [["notary"], list("abcde")], ids=["the authority", "the parties"])
def test_all_parties_that_refuse_a_set_are_lost_whether_the_authority_ends_the_run_before_or_after(
    faster, play, masked_settings, monkeypatch
) -> None:
    """The authority and every party refuse the same set at the same time; here their order is forced."""
    fail = InProcessHub.fail
    failed = {name: threading.Event() for name in (*"abcde", "notary")}

    def fail_in_order(hub, party, error):
        if party in failed and party not in faster:
            assert all(failed[name].wait(PATIENCE_S) for name in faster)
        fail(hub, party, error)
        if party in failed:
            failed[party].set()

    monkeypatch.setattr(InProcessHub, "fail", fail_in_order)
    hiding = Hiding(monkeypatch, other_bounds, tell_victim=True)
    settings = masked_settings(5, "authority", codec=DACIQ)
    rehearsal, _, error = play(hiding.change, take=hiding.take, settings=settings, exactness_check=False)
    assert error.party == "notary"
    assert sorted(rehearsal.lost_names) == list("abcde")
    assert causes(rehearsal) == {ProtocolError}


@pytest.mark.parametrize("bound", [2.0**41, 2.0**-41, 0.0, -1.0, np.inf, np.nan])
def test_bounds_out_of_range_are_refused_before_anything_is_masked(bound, play, masked_settings) -> None:
    def changed(to, step, message):
        return ClipMessage(np.full(message.alpha.shape, bound)) if isinstance(message, ClipMessage) else None

    rehearsal, watch, error = play(changed, settings=masked_settings(5, codec=DACIQ))
    assert error is not None
    assert causes(rehearsal) == {WireCorruptError}
    assert "2^-40 to 2^40" in rehearsal.reasons
    assert watch.senders_of(DealtMessage) == []


# --- models ----------------------------------------------------------------------------------------------------------


class OtherSum:
    """In round 1 the victim is given a sum of which the last value is 50 levels higher."""

    def __init__(self) -> None:
        self._lane_count = 0

    def note(self, sender, step, message):
        if isinstance(message, UploadMessage):
            self._lane_count = message.lane_count

    def change(self, to, step, message):
        if not isinstance(message, SumBlockMessage) or to != VICTIM or not step.startswith("round-1/"):
            return None
        form = SETS["A16-16"].form
        bits, dropped = form.sum_field_bits[0], form.sum_dropped_bits
        # The count lane comes first, so the last value lies in the lane of its number.
        lane, index = divmod(self._lane_count, form.last_used(self._lane_count))
        written = int.from_bytes(message.written, "little")
        old = written >> (bits * index) & ((1 << bits) - 1)
        added = form.delta * (50 << (form.slot_bits * lane))
        new = (((old << dropped) + added) % form.ring.modulus + (1 << dropped >> 1)) >> dropped
        written += (new - old) << (bits * index)
        return SumBlockMessage(written.to_bytes(len(message.written), "little"))


@pytest.fixture
def two_rounds(masked_settings):
    settings = masked_settings(5)
    return replace(settings, training=replace(settings.training, round_count=2))


def test_a_party_with_another_model_is_left_out_of_the_next_round(play, two_rounds) -> None:
    """The aggregator does not compare the models' digests, and finds in round 2 what it did."""
    other = OtherSum()

    def take(sender, step, message):
        other.note(sender, step, message)
        return replace(message, model_digest=bytes(32)) if isinstance(message, RoundEndMessage) else None

    rehearsal, watch, error = play(other.change, take=take, settings=two_rounds, exactness_check=False)
    assert error is None
    assert watch.opened_at[:5] == list("abcde")
    assert rehearsal.lost_names == [VICTIM]
    assert OTHER_FORM in rehearsal.reasons
    assert [record.party_count for record in rehearsal.records] == [5, 4]


@pytest.mark.parametrize("tell_victim", [False, True], ids=["a member finds it", "everybody finds it"])
def test_another_model_opens_nothing_of_that_party_where_it_is_hidden(
    tell_victim, play, two_rounds, monkeypatch
) -> None:
    other = OtherSum()
    hiding = Hiding(monkeypatch, other.change, tell_victim=tell_victim)

    def take(sender, step, message):
        other.note(sender, step, message)
        return hiding.take(sender, step, message)

    rehearsal, watch, error = play(hiding.change, take=take, settings=two_rounds, exactness_check=False)
    assert hiding.differ == {"round-2/upload-1"}
    assert error is not None
    assert watch.senders_of(ReleasedMessage, "round-2") == []
    assert [record.round for record in rehearsal.records] == [1]
    assert "'c' did not sign" in rehearsal.reasons
    if not tell_victim:
        assert "the parties do not hold the same before round-2" in rehearsal.reasons
