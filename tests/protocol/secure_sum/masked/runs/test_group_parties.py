"""A group of sums keeps its parties over runs that stop and are resumed, and a run that can go on does go on."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import pytest

from hekat.errors import ChannelError, InputError, PartyStoppedError, ProtocolError
from hekat.protocol.horizontal.sums_ahead import plan_sums
from hekat.protocol.secure_sum.masked.group.group_parties import GroupParties, check_released_groups, choose_parties
from hekat.protocol.secure_sum.masked.messages import (
    IncludedMessage,
    OutcomeMessage,
    ReleasedGroupsMessage,
    SumBeginMessage,
)
from hekat.protocol.secure_sum.participation import Participation
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.protocol.secure_sum.sum_plan import SumPlan


@pytest.fixture
def three_rounds(masked_settings):
    settings = masked_settings(5)
    return replace(settings, training=replace(settings.training, round_count=3))


@pytest.fixture
def stop_at(rehearse_masked, meddle):
    """Plays a run whose aggregator goes down in a step, by default with all releases made and none of the sum sent.

    With IncludedMessage all parties have uploaded, and so have saved the round before.
    """

    def play(settings, step, kind=SumBeginMessage, **others):
        def outgoing(to, name, message):
            if isinstance(message, kind) and name.startswith(f"{step}/"):
                raise ChannelError("the machine goes down")
            return [(name, message)]

        rehearsal = rehearse_masked(settings, meddlers={"hub": meddle(outgoing)}, **others)
        with pytest.raises(PartyStoppedError, match="the machine goes down"):
            rehearsal.run()
        return rehearsal

    return play


@pytest.fixture
def stop_by_losses(rehearse_masked):
    """Plays a run that ends because too many are lost."""

    def play(settings, hooks, **others):
        rehearsal = rehearse_masked(settings, hooks=hooks, **others)
        with pytest.raises(PartyStoppedError, match="lost"):
            rehearsal.run()
        return rehearsal

    return play


def in_rounds(rehearsal):
    return [(record.round, record.party_count) for record in rehearsal.records]


@pytest.mark.parametrize("lost", ["a", "e"])
def test_a_party_that_is_back_is_left_out_of_a_round_that_was_released_without_it(
    lost, three_rounds, rehearse_masked, stop_at, leave_at
) -> None:
    first = stop_at(three_rounds, "round-2", hooks={lost: leave_at("round-2")})
    assert in_rounds(first) == [(1, 5)]
    second = stop_at(three_rounds, "round-3", IncludedMessage, resume_from=first.saved[-1])
    assert in_rounds(second) == [(2, 4)]
    assert second.lost_names[0] == lost
    assert "round-2 was released for without its update in an earlier run" in second.reasons
    # The round is saved, so in the next run the party takes part again.
    third = rehearse_masked(three_rounds, resume_from=second.saved[-1])
    third.run()
    assert in_rounds(third) == [(3, 5)]
    assert third.lost_names == []


def test_a_run_that_begins_anew_leaves_it_out_from_that_round_on(
    three_rounds, rehearse_masked, stop_at, leave_at
) -> None:
    stop_at(three_rounds, "round-2", hooks={"e": leave_at("round-2")})
    again = rehearse_masked(three_rounds)
    again.run()
    assert in_rounds(again) == [(1, 5), (2, 4), (3, 4)]


def test_the_standardiser_is_a_group_like_any(three_rounds, rehearse_masked, stop_at, leave_at) -> None:
    settings = replace(three_rounds, training=replace(three_rounds.training, standardise=True, round_count=1))
    stop_at(settings, "standardise/scale", hooks={"e": leave_at("standardise/scale")})
    again = rehearse_masked(settings)
    again.run()
    assert in_rounds(again) == [(1, 4)]
    assert "standardise was released for without its update" in again.reasons


@pytest.mark.parametrize("opening", ["authority", "shared"])
def test_the_other_openers_keep_to_it_too(opening, masked_settings, rehearse_masked, stop_at, leave_at) -> None:
    settings = masked_settings(5, opening)
    stop_at(settings, "round-1", OutcomeMessage, hooks={"e": leave_at("round-1")})
    again = rehearse_masked(settings)
    again.run()
    assert in_rounds(again) == [(1, 4)]


def test_what_is_left_out_is_not_asked_for_its_ranges_either(masked_settings, stop_at, play, leave_at) -> None:
    settings = masked_settings(5, codec=CodecSettings(clipping="daciq"))
    stop_at(settings, "round-1", hooks={"e": leave_at("round-1")})
    rehearsal, watch, error = play(lambda to, step, message: None, settings=settings)
    assert error is None
    assert in_rounds(rehearsal) == [(1, 4)]
    assert [sender for sender, step, _ in watch.received if step == "round-1/range"] == list("abcd")


def test_what_was_released_for_all_stops_nobody(three_rounds, rehearse_masked, stop_at) -> None:
    first = stop_at(three_rounds, "round-2")
    resumed = rehearse_masked(three_rounds, resume_from=first.saved[-1])
    resumed.run()
    assert in_rounds(resumed) == [(2, 5), (3, 5)]
    assert resumed.lost_names == []


@pytest.mark.parametrize("party_count", [4, 5, 8])
def test_members_without_a_record_are_not_asked_for_another_set(
    party_count, masked_settings, rehearse_masked, stop_by_losses, leave_at
) -> None:
    """Some members note a set that too few release for; were the rest to note another, neither would ever open."""
    settings = masked_settings(party_count)
    member_count = min(party_count, 7)
    threshold = 2 * member_count // 3 + 1
    lost = settings.parties[: member_count - threshold + 1]
    stop_by_losses(settings, dict.fromkeys(lost, leave_at("round-1", "release")))
    last = settings.parties[-1]
    second = stop_by_losses(settings, {last: leave_at("round-1")})
    assert second.lost_names[0] == last
    third = rehearse_masked(settings)
    third.run()
    assert in_rounds(third) == [(1, party_count)]


def test_rounds_that_are_bound_to_different_parties_each_find_theirs(
    three_rounds, rehearse_masked, stop_at, stop_by_losses, leave_at
) -> None:
    first = stop_at(three_rounds, "round-3", IncludedMessage, hooks={"e": leave_at("round-2")})
    assert in_rounds(first) == [(1, 5), (2, 4)]
    stop_by_losses(three_rounds, dict.fromkeys("ab", leave_at("round-3", "release")), resume_from=first.saved[-1])
    # Begun anew, e is left out of round 2, and so is not there for round 3, which needs it.
    third = stop_by_losses(three_rounds, {})
    assert in_rounds(third) == [(1, 5), (2, 4)]
    fourth = rehearse_masked(three_rounds, resume_from=third.saved[-1])
    fourth.run()
    assert in_rounds(fourth) == [(3, 5)]


class Late:
    """A party's channel on which one message is asked for only after `until` is set."""

    def __init__(self, channel, step, until):
        self._channel, self._step, self._until = channel, step, until

    def __getattr__(self, name):
        return getattr(self._channel, name)

    def receive(self, sender, step, message_type, timeout_s=None):
        if step == self._step:
            assert self._until.wait(timeout=30)
        return self._channel.receive(sender, step, message_type, timeout_s)


def test_a_round_that_cannot_be_begun_ends_the_run_after_all_have_saved_the_one_before(
    three_rounds, rehearse_masked, stop_at, meddle, leave_at, roles_apart
) -> None:
    """Else a run begun anew would come to this point again and again, and never beyond."""
    first = stop_at(three_rounds, "round-3", IncludedMessage, hooks={"e": leave_at("round-2")})
    stop_at(three_rounds, "round-3", hooks={"d": leave_at("round-3")}, resume_from=first.saved[-1])
    begun = Event()

    def outgoing(to, step, message):
        if step == "round-3/begin":
            begun.set()
        return [(step, message)]

    late = {party: lambda channel: Late(channel, "round-2/agreed", begun) for party in "abc"}
    third = rehearse_masked(three_rounds, meddlers={"hub": meddle(outgoing), **late})
    with pytest.raises(PartyStoppedError, match="too few parties are left for round-3"):
        third.run()
    assert [saved.rounds_done for saved in third.saved] == [1, 2]
    fourth = rehearse_masked(three_rounds, resume_from=third.saved[-1])
    fourth.run()
    assert in_rounds(fourth) == [(3, 4)]
    assert fourth.lost_names == ["d"]


def test_a_member_that_is_lost_before_it_said_so_ends_the_run(masked_settings, rehearse_masked, meddle) -> None:
    def outgoing(to, step, message):
        if isinstance(message, ReleasedGroupsMessage):
            raise ChannelError("no network today")
        return [(step, message)]

    rehearsal = rehearse_masked(masked_settings(5), meddlers={"c": meddle(outgoing)})
    with pytest.raises(PartyStoppedError, match="no network today") as caught:
        rehearsal.run()
    assert caught.value.party == "c"


# --- members that lie --------------------------------------------------------------------------------------------


def claim(left_out):
    return lambda to, step, message: (
        ReleasedGroupsMessage(left_out) if isinstance(message, ReleasedGroupsMessage) else None
    )


@pytest.mark.parametrize(
    "left_out",
    [
        {"round-1": ["d", "e", "f"]},
        {"round-1": ["e", "e"]},
        {"round-1": ["nobody"]},
        {"round-1": ["hub"]},
        {"round-1": ["b"]},
        {"round-2": ["e"]},
        {"round-1/exponents": []},
    ],
    ids=["too many", "one twice", "no party", "the aggregator", "itself", "no round of the job", "no group"],
)
def test_a_member_that_claims_what_cannot_be_is_given_up(left_out, play, masked_settings) -> None:
    rehearsal, _, error = play(claim(left_out), role="b", settings=masked_settings(8))
    assert error is None
    assert rehearsal.lost_names == ["b"]
    assert "of its earlier releases" in rehearsal.reasons
    assert in_rounds(rehearsal) == [(1, 7)]


def test_an_authority_that_claims_what_cannot_be_ends_the_run(play, masked_settings) -> None:
    settings = masked_settings(5, "authority")
    _, _, error = play(claim({"round-1": ["d", "e"]}), role="notary", settings=settings)
    assert isinstance(error.__cause__, ProtocolError)
    assert "at most 1 other parties left out" in str(error)


def test_a_false_claim_that_no_record_contradicts_is_followed(play, masked_settings) -> None:
    """As docs/spec/committee.md says."""
    rehearsal, _, error = play(claim({"round-1": ["e"]}), role="b", settings=masked_settings(5))
    assert error is None
    assert rehearsal.lost_names == ["e"]
    assert in_rounds(rehearsal) == [(1, 4)]


@pytest.mark.parametrize(("truth", "lie"), [(["h"], ["d"]), ([], ["d"]), (["h"], [])])
def test_a_false_claim_against_true_ones_loses_and_is_noted(
    truth, lie, masked_settings, play, stop_at, tmp_path, leave_at
) -> None:
    settings = masked_settings(8)
    stop_at(settings, "round-1", hooks=dict.fromkeys(truth, leave_at("round-1", "sign")))
    rehearsal, _, error = play(claim({"round-1": lie}), role="b", settings=settings, ledger_folder=tmp_path)
    assert error is None
    assert rehearsal.lost_names == truth
    assert f"b says of round-1: {'all but d' if lie else 'all'}" in (tmp_path / "hub.jsonl").read_text()


def test_a_false_claim_that_leaves_too_few_binds_nobody(
    masked_settings, play, stop_by_losses, rehearse_masked, leave_at
) -> None:
    """Two released without e, two not at all. Were the lie followed, the others would note another set for ever."""
    settings = masked_settings(5)
    hooks = {"e": leave_at("round-1")} | dict.fromkeys("bd", leave_at("round-1", "release"))
    stop_by_losses(settings, hooks)
    _, _, error = play(claim({"round-1": []}), role="b", settings=settings)
    assert isinstance(error.__cause__, ProtocolError)
    assert "a: all but e; b: all; c: all but e" in str(error)
    honest = rehearse_masked(settings)
    honest.run()
    assert in_rounds(honest) == [(1, 4)]


# --- the parts ---------------------------------------------------------------------------------------------------


def test_the_groups_ahead_are_those_of_all_sums_to_come(masked_settings) -> None:
    settings = masked_settings(5)
    with_standardiser = replace(settings, training=replace(settings.training, standardise=True, round_count=3))
    everything = ("standardise", "round-1", "round-2", "round-3")
    assert plan_sums(with_standardiser) == SumPlan(everything, everything)
    assert plan_sums(with_standardiser, 2) == SumPlan(everything, ("round-3",))
    assert plan_sums(with_standardiser, 3) == SumPlan(everything, ())
    assert plan_sums(settings).ahead == ("round-1",)
    with_row_count = replace(settings, training=replace(settings.training, algorithm="scaffold"))
    assert plan_sums(with_row_count).ahead == ("scaffold", "round-1")
    assert plan_sums(with_row_count, 1).ahead == ()


def test_a_possible_claim_passes_and_another_names_its_group(masked_settings) -> None:
    settings = masked_settings(5)
    everybody = Participation(settings.sums, b"")
    check_released_groups(ReleasedGroupsMessage({"round-1": ["e"]}), "a", plan_sums(settings), everybody)
    check_released_groups(ReleasedGroupsMessage({"round-1": []}), "notary", plan_sums(settings), everybody)
    with pytest.raises(InputError, match="round-1"):
        check_released_groups(ReleasedGroupsMessage({"round-1": ["e"]}), "e", plan_sums(settings), everybody)


@pytest.fixture
def everybody_of(masked_settings):
    return lambda party_count: Participation(masked_settings(party_count).sums, b"")


def said(**by_member):
    """What members said of round-1: the names left out, or None where they did not release."""
    return {
        name: ReleasedGroupsMessage({} if left_out is None else {"round-1": list(left_out)})
        for name, left_out in by_member.items()
    }


@pytest.mark.parametrize(
    ("told", "parties"),
    [
        (said(a="e", b="e", c=None, d=None, e=None), "abcd"),
        # e is a member, and cannot release for a set without itself.
        (said(a="e", b="", c=None, d=None, e=None), "abcde"),
        (said(a="", b="d", c="", d=None, e=None), "abcde"),
        (said(a="", b="d", c="", d="", e=""), "abcde"),
        (said(a="d", b="e", c=None, d=None, e=None), "abce"),
        # As many could for all five, but more say that it was four.
        (said(a="e", b="", c="e", d=None, e=None), "abcd"),
    ],
)
def test_the_parties_are_those_for_which_most_members_can_release(told, parties, everybody_of) -> None:
    assert choose_parties(told, everybody_of(5), 3) == {"round-1": tuple(parties)}


def test_where_too_few_can_release_for_any_that_is_said(everybody_of) -> None:
    told = said(a="d", b="e", c=None, d=None, e=None)
    with pytest.raises(ProtocolError, match=r"round-1 for different parties.*a: all but d; b: all but e"):
        choose_parties(told, everybody_of(5), 4)


def test_of_two_sets_the_one_with_members_enough_is_taken(everybody_of) -> None:
    """Of seven members five are needed: without f and g only four are left that noted no other set, without g five."""
    told = said(a="fg", b="g", c=None, d=None, e=None, f=None, g=None)
    assert choose_parties(told, everybody_of(7), 5) == {"round-1": tuple("abcdef")}


def test_groups_that_nobody_released_in_are_bound_to_nothing(everybody_of) -> None:
    assert choose_parties(said(a=None, b=None), everybody_of(2), 2) == {}
    assert choose_parties({}, everybody_of(3), 3) == {}


def test_rounds_of_the_same_parties_share_one_set() -> None:
    """A set of a hundred names takes eight kilobytes; an aggregator has one for each round."""
    groups = GroupParties(roster=None, bound={})
    for step in ("round-1/upload-1", "round-2/upload-4"):
        groups.bind(step, [f"party-{number}" for number in range(100)])
    assert groups._bound["round-1"] is groups._bound["round-2"]
