"""A release leaves only once it is noted, and only for the shares that its member checked: in real runs, not in copies.

What is driven here is what every site runs: a party's `PartyOpening`, its `Member`, the key authority.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from dataclasses import replace

import pytest

from hekat.errors import PartyStoppedError, ProtocolError, StateError
from hekat.protocol.secure_sum.masked import aggregator as masked_aggregator
from hekat.protocol.secure_sum.masked.messages import IncludedMessage, ReleasedMessage
from hekat.protocol.secure_sum.masked.opening.opening_schemes import SharedKeyScheme
from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening
from hekat.protocol.secure_sum.masked.upload_state import UploadState

OPENERS = [("committee", "a"), ("authority", "notary")]


# --- the record comes first ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("opening", "opener"), OPENERS)
def test_nothing_of_a_release_leaves_before_it_is_noted(
    opening, opener, rehearse_masked, masked_settings, meddle, monkeypatch
) -> None:
    order: list[str] = []
    allow = UploadState.allow

    def allow_and_note(self, parties, included):
        allow(self, parties, included)
        if self is rehearsal.upload_states[opener]:
            order.append(f"noted {included.context.number}")

    def look(to, step, message):
        if isinstance(message, ReleasedMessage):
            order.append(f"left {step.split('/upload-')[1].split('/')[0]}")
        return [(step, message)]

    monkeypatch.setattr(UploadState, "allow", allow_and_note)
    rehearsal = rehearse_masked(masked_settings(5, opening), meddlers={opener: meddle(look)})
    rehearsal.run()
    assert order == ["noted 0", "left 0"]


@pytest.mark.parametrize(("opening", "opener"), OPENERS)
def test_a_release_that_cannot_be_noted_does_not_leave(
    opening, opener, rehearse_masked, masked_settings, meddle, monkeypatch
) -> None:
    """One opener's disk is full: it releases nothing. Four of five members open without it."""
    sent: list[object] = []
    allow = UploadState.allow

    def fail(self, parties, included):
        if self is rehearsal.upload_states[opener]:
            raise StateError("the record cannot be written", got="no space left")
        allow(self, parties, included)

    def look(to, step, message):
        sent.append(message)
        return [(step, message)]

    monkeypatch.setattr(UploadState, "allow", fail)
    rehearsal = rehearse_masked(masked_settings(5, opening), meddlers={opener: meddle(look)})
    if opening == "committee":
        rehearsal.run()
        assert rehearsal.lost_names == [opener]
        assert isinstance(rehearsal.lost[0].__cause__, StateError)
    else:
        with pytest.raises(PartyStoppedError, match="the record cannot be written") as caught:
            rehearsal.run()
        assert caught.value.party == opener
        assert rehearsal.records == []
    assert sent
    assert not [message for message in sent if isinstance(message, ReleasedMessage)]


def test_with_a_shared_key_a_party_opens_only_what_it_has_noted(rehearse_masked, masked_settings, monkeypatch) -> None:
    order: dict[str, list[str]] = defaultdict(list)
    allow, open_sum = UploadState.allow, SharedKeyScheme.open

    def allow_and_note(self, parties, included):
        allow(self, parties, included)
        order[threading.current_thread().name].append("noted")

    def open_and_note(self, *arguments):
        order[threading.current_thread().name].append("opened")
        return open_sum(self, *arguments)

    monkeypatch.setattr(UploadState, "allow", allow_and_note)
    monkeypatch.setattr(SharedKeyScheme, "open", open_and_note)
    rehearse_masked(masked_settings(3, "shared")).run()
    assert list(order.values()) == [["noted", "opened"]] * 3


# --- the shares are those that were checked --------------------------------------------------------------------------


class DealsTwice:
    """Party `c` deals one secret and signs its upload with the shares of another one; the aggregator goes along.

    Whoever opened the stated set would add shares that the signatures do not speak of: c and the aggregator could say
    afterwards that other ones were dealt, and a faulty sum could be pinned on anybody.
    """

    def __init__(self, monkeypatch) -> None:
        self.other: list[bytes] = []
        sign = PartyOpening.sign

        def sign_others(opening, leg, parameters, upload_digest, *opened):
            if opening._channel.party == "c":
                dealt = opening._used
                self.other = [hashlib.sha256(digest).digest() for digest in dealt.digests]
                opening._used = replace(dealt, digests=tuple(self.other))
            return sign(opening, leg, parameters, upload_digest, *opened)

        monkeypatch.setattr(PartyOpening, "sign", sign_others)
        monkeypatch.setattr(masked_aggregator, "check_statement", lambda *others, **options: None)

    def change(self, to, step, message):
        if isinstance(message, IncludedMessage):
            return replace(message, share_digests={**message.share_digests, "c": self.other})
        return None


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_no_member_releases_for_other_shares_than_it_checked(opening, play, masked_settings, monkeypatch) -> None:
    deals = DealsTwice(monkeypatch)
    rehearsal, watch, error = play(deals.change, settings=masked_settings(5, opening), exactness_check=False)
    assert deals.other
    assert watch.senders_of(ReleasedMessage) == []
    assert watch.opened_at == []
    assert rehearsal.records == []
    words = "names other shares of 'c'"
    if opening == "authority":
        assert words in str(error)
    else:
        assert isinstance(error.__cause__, ProtocolError)
        assert rehearsal.reasons.count(words) == 5
