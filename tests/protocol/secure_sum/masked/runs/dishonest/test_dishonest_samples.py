"""An aggregator that asks for other parties than the sampled ones, for too few, or for two sets of one round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import ChannelError, InputError, PartyStoppedError, ProtocolError
from hekat.protocol.horizontal.sums_ahead import plan_sums
from hekat.protocol.secure_sum import participation
from hekat.protocol.secure_sum.masked.group.group_parties import check_released_groups, choose_parties
from hekat.protocol.secure_sum.masked.messages import (
    BeginMessage,
    DealtMessage,
    IncludedMessage,
    MaskedBlockMessage,
    OutcomeMessage,
    ReleasedGroupsMessage,
    ReleasedMessage,
)
from hekat.protocol.secure_sum.participation import Participation

NAMES = tuple("abcdefghij")
JOB_DIGEST = bytes(32)
FIELDS = ("upload_digests", "share_digests", "salts", "signatures")


@pytest.fixture
def ten(masked_settings):
    """Five of ten parties, four of them at the least, and one round."""

    def make(opening="committee"):
        settings = replace(masked_settings(3, opening), parties=NAMES)
        return replace(settings, training=replace(settings.training, participation=0.5))

    return make


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(3)
    return {name: Table(rng.normal(size=(20, 3)), np.arange(20) % 2, ("u", "v", "w"), name) for name in NAMES}


def sample_of(settings):
    return Participation(settings.sums, JOB_DIGEST).parties_in("round-1")


def outside(settings):
    """The members that are not sampled, and then the other parties that are not."""
    return [name for name in settings.parties if name not in sample_of(settings)]


def stated_as(change):
    return lambda to, step, message: change(message) if isinstance(message, IncludedMessage) else None


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_a_set_with_a_party_outside_the_sample_is_released_by_nobody(opening, ten, tables, play) -> None:
    settings = ten(opening)
    inside, away = sample_of(settings)[0], outside(settings)[0]

    def change(stated):
        renamed = {
            field: {(away if name == inside else name): value for name, value in getattr(stated, field).items()}
            for field in FIELDS
        }
        return replace(stated, **renamed)

    rehearsal, watch, error = play(stated_as(change), settings=settings, tables=tables)
    assert error is not None
    assert watch.senders_of(ReleasedMessage) == watch.opened_at == []
    assert "a party that takes no part" in f"{rehearsal.reasons} {error}"
    assert rehearsal.records == []


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_a_set_of_fewer_than_two_thirds_of_the_sample_is_released_by_nobody(opening, ten, tables, play) -> None:
    settings = ten(opening)
    gone = sample_of(settings)[:2]

    def change(stated):
        return replace(
            stated,
            **{
                field: {name: value for name, value in getattr(stated, field).items() if name not in gone}
                for field in FIELDS
            },
        )

    rehearsal, watch, error = play(stated_as(change), settings=settings, tables=tables)
    assert error is not None
    assert watch.senders_of(ReleasedMessage) == watch.opened_at == []
    assert "is too small; expected at least 4 parties" in f"{rehearsal.reasons} {error}"


def test_a_set_without_one_that_uploads_costs_its_release_alone(ten, tables, play) -> None:
    """Nobody else can tell that its upload was whole: it is as if it had been lost."""
    settings = ten()
    gone = sample_of(settings)[0]

    def change(stated):
        return replace(
            stated, **{field: {n: v for n, v in getattr(stated, field).items() if n != gone} for field in FIELDS}
        )

    rehearsal, watch, _ = play(stated_as(change), settings=settings, tables=tables)
    assert "leaves this party out of a sum that it takes part in" in rehearsal.reasons
    assert gone not in watch.senders_of(ReleasedMessage)


@pytest.fixture
def other_sample(monkeypatch):
    """Makes some roles take another party for sampled: dishonest ones, which work together."""

    def make(dishonest, sample):
        honest = participation.participation_of

        def choose(channel, settings):
            samples = honest(channel, settings)
            if channel.party in dishonest:
                samples.parties_in = lambda step: sample
            return samples

        for module in (
            "party_side",
            "masked.aggregator",
            "masked.group.group_parties",
            "masked.opening.member",
            "masked.opening.party_opening",
        ):
            monkeypatch.setattr(f"hekat.protocol.secure_sum.{module}.participation_of", choose)

    return make


def test_a_party_outside_the_sample_that_uploads_is_refused_by_every_honest_member(
    ten, tables, play, other_sample
) -> None:
    """The aggregator and a party that is not sampled work together: it deals and would upload in another's place."""
    settings = ten()
    sample, away = sample_of(settings), outside(settings)[0]
    other_sample({"hub", away}, tuple(sorted({*sample[1:], away})))
    rehearsal, watch, error = play(lambda to, step, message: None, settings=settings, tables=tables)
    assert error is not None
    assert away in watch.senders_of(DealtMessage)
    assert set(watch.senders_of(ReleasedMessage)) <= {away}
    assert watch.opened_at == []
    assert f"states shares that '{away}' did not sign" in f"{rehearsal.reasons} {error}"
    assert "each dealer, who takes part in this step" in f"{rehearsal.reasons} {error}"


def test_the_aggregator_cannot_have_a_party_upload_that_is_not_sampled(ten, tables, play, other_sample) -> None:
    """It waits for what an honest party does not send, and loses it by that."""
    settings = ten()
    sample, away = sample_of(settings), outside(settings)[0]
    other_sample({"hub"}, tuple(sorted({*sample, away})))
    _, watch, _ = play(lambda to, step, message: None, settings=settings, tables=tables, timeout_s=1.0)
    assert away not in watch.senders_of(DealtMessage)
    assert away not in watch.senders_of(MaskedBlockMessage)
    assert set(watch.senders_of(DealtMessage)) <= set(sample)


def test_strangers_cannot_take_part(ten, tables, play) -> None:
    def change(to, step, message):
        return replace(message, participants=["hub"]) if isinstance(message, BeginMessage) else None

    _, watch, error = play(change, settings=ten(), tables=tables)
    assert error is not None
    assert watch.senders_of(DealtMessage) == []


# --- two sets of one round ---------------------------------------------------------------------------------------


@pytest.fixture
def released_without_one(ten, tables, rehearse_masked, meddle, leave_at):
    """A run that ended when all had released for the sample but its first party, and before the sum stood."""

    def play_it(opening):
        settings = ten(opening)
        lost = sample_of(settings)[0]

        def outgoing(to, name, message):
            if isinstance(message, OutcomeMessage):
                raise ChannelError("the machine goes down")
            return [(name, message)]

        first = rehearse_masked(
            settings, tables=tables, hooks={lost: leave_at("round-1")}, meddlers={"hub": meddle(outgoing)}
        )
        with pytest.raises(PartyStoppedError, match="the machine goes down"):
            first.run()
        return settings

    return play_it


@pytest.fixture
def ask_for_all(play, tables):
    """A second session that asks for the whole sample, as if nobody had told of earlier releases."""

    def play_it(settings):
        told = {}

        def forget(sender, step, message):
            if isinstance(message, ReleasedGroupsMessage):
                told[sender] = message.left_out
                return ReleasedGroupsMessage({})
            return None

        return *play(lambda to, step, message: None, take=forget, settings=settings, tables=tables), told

    return play_it


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_members_inside_and_outside_the_sample_release_for_one_set_of_a_round(
    opening, released_without_one, ask_for_all
) -> None:
    settings = released_without_one(opening)
    rehearsal, watch, error, told = ask_for_all(settings)
    assert error is not None
    assert rehearsal.records == watch.opened_at == []
    lost = sample_of(settings)[0]
    openers = NAMES[:7] if opening == "committee" else ("notary",)
    # Who was in, and who was not sampled, say the same; the lost one has released for nothing.
    assert told == {name: {} if name == lost else {"round-1": [lost]} for name in openers}
    assert len(set(openers) & set(outside(settings))) >= (2 if opening == "committee" else 0)
    assert set(watch.senders_of(ReleasedMessage)) <= {lost}
    assert "another set was released for in 'round-1'" in f"{rehearsal.reasons} {error}"


def test_under_one_key_all_that_opened_refuse_another_set_sampled_or_not(released_without_one, ask_for_all) -> None:
    settings = released_without_one("shared")
    rehearsal, watch, _, told = ask_for_all(settings)
    lost = sample_of(settings)[0]
    assert told == {name: {} if name == lost else {"round-1": [lost]} for name in NAMES}
    assert set(rehearsal.lost_names[:-1]) == set(NAMES) - {lost}
    assert watch.opened_at == [lost]
    assert rehearsal.lost_names[-1] == lost, "whom nobody is left to tell that it has the right model"
    assert f"the final model of {lost} could be compared with nobody" in rehearsal.reasons


def test_what_a_member_can_have_released_for(ten) -> None:
    """Sets of the sample alone, with itself if it is sampled, and one party less at most."""
    settings = ten()
    samples, sample = Participation(settings.sums, JOB_DIGEST), sample_of(settings)
    away, inside = outside(settings)[0], sample[1]
    for member in (away, inside):
        for left_out in ([], [sample[0]]):
            check_released_groups(ReleasedGroupsMessage({"round-1": left_out}), member, plan_sums(settings), samples)
    for member, left_out in [(inside, [inside]), (inside, [away]), (away, [away]), (away, list(sample[:2]))]:
        with pytest.raises(InputError, match="it cannot have released so in round-1"):
            check_released_groups(ReleasedGroupsMessage({"round-1": left_out}), member, plan_sums(settings), samples)


def test_a_member_outside_the_sample_counts_among_those_that_can_release(ten) -> None:
    settings = ten()
    samples, sample = Participation(settings.sums, JOB_DIGEST), sample_of(settings)
    members = settings.parties[:7]
    claims = {name: ReleasedGroupsMessage({"round-1": [sample[0]]}) for name in outside(settings) if name in members}
    told = {name: ReleasedGroupsMessage({}) for name in members} | claims
    able = len(members) - (sample[0] in members)
    assert choose_parties(told, samples, able) == {"round-1": sample[1:]}
    with pytest.raises(ProtocolError, match="for different parties"):
        choose_parties(told, samples, able + 1)
