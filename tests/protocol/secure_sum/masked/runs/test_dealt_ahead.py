"""Secrets of the next round, dealt and checked within this one: used once or never, and refused as any other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.messages import (
    DealtMessage,
    IncludedMessage,
    MaskedBlockMessage,
    OpenedMessage,
    ReleasedMessage,
    ShareMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.masked.opening.opening_scheme import Dealt
from hekat.protocol.secure_sum.masked.opening.opening_schemes import CommitteeScheme
from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening
from hekat.scheme.lattice import SETS, generate_secret

OPENINGS = ("committee", "authority", "shared")


@pytest.fixture
def two_rounds(masked_settings):
    """Settings of five parties and two rounds, under any opening."""

    def make(opening: str = "committee"):
        settings = masked_settings(5, opening)
        return replace(settings, training=replace(settings.training, round_count=2))

    return make


@pytest.mark.parametrize("opening", OPENINGS)
def test_the_next_round_is_dealt_for_before_a_sum_is_opened_and_the_last_one_deals_for_none(
    opening, play, two_rounds
) -> None:
    rehearsal, watch, error = play(lambda *message: None, settings=two_rounds(opening))
    assert error is None
    assert [record.party_count for record in rehearsal.records] == [5, 5]
    order = [
        step
        for sender, step, message in watch.received
        if sender == "b" and isinstance(message, DealtMessage | OpenedMessage | UploadMessage)
    ]
    assert order == [
        "round-1/upload-0/dealt",
        "round-1/upload-0/upload",
        "round-2/upload-1/dealt",
        "round-1/upload-0/opened",
        "round-2/upload-1/upload",
        "round-2/upload-1/opened",
    ]


@pytest.mark.long
def test_a_party_lost_between_dealing_and_its_upload_is_left_out(rehearse_masked, two_rounds, leave_at) -> None:
    rehearsal = rehearse_masked(two_rounds(), hooks={"d": leave_at("round-2", "upload")})
    rehearsal.run()
    assert rehearsal.lost_names == ["d"]
    assert [record.party_count for record in rehearsal.records] == [5, 4]


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_of_a_dealer_whose_shares_are_refused_no_block_is_read(opening, play, two_rounds, meddle, monkeypatch) -> None:
    """Its upload left before the verdict, together with the members' answers."""

    original = CommitteeScheme.deal

    def deal_other_shares(scheme, context, dealer, *others):
        dealt = original(scheme, context, dealer, *others)
        is_wrong = dealer == "d" and context.step == "round-2"
        return replace(dealt, digests=tuple(bytes(32) for _ in dealt.digests)) if is_wrong else dealt

    monkeypatch.setattr(CommitteeScheme, "deal", deal_other_shares)

    def deal_wrongly(to, step, message):
        wrong = isinstance(message, ShareMessage) and step.startswith("round-2/")
        return [(step, ShareMessage(bytes(len(message.content))) if wrong else message)]

    rehearsal, watch, error = play(
        lambda *message: None, settings=two_rounds(opening), meddlers={"d": meddle(deal_wrongly)}
    )
    assert error is None
    assert rehearsal.lost_names == ["d"]
    assert "its shares in round-2 were refused" in rehearsal.reasons
    assert "d" in watch.senders_of(MaskedBlockMessage, "round-1")
    assert "d" not in watch.senders_of(MaskedBlockMessage, "round-2")
    assert [record.party_count for record in rehearsal.records] == [5, 4]


@pytest.mark.parametrize("named", ["", "round-9"])
def test_an_aggregator_that_names_another_step_obtains_no_secret_for_it(named, play, two_rounds) -> None:
    def changed(to, step, message):
        return replace(message, next_step=named) if isinstance(message, IncludedMessage) else None

    _, watch, error = play(changed, settings=two_rounds(), timeout_s=2.0)
    assert error is not None
    assert watch.senders_of(DealtMessage, "round-9") == watch.senders_of(ReleasedMessage, "round-2") == []


@pytest.mark.parametrize("of_a_group", [True, False])
def test_a_dealt_secret_is_taken_once(of_a_group) -> None:
    opening = object.__new__(PartyOpening)
    opening._dealt = Dealt(generate_secret(SETS["A16-16"]))
    opening._keeps_secrets, opening._secrets = of_a_group, {}
    assert opening.take_secret(Leg("round-1", 0, ())).coefficients.any()
    with pytest.raises(ProtocolError, match="an upload without a secret"):
        opening.take_secret(Leg("round-1", 0, ()))
