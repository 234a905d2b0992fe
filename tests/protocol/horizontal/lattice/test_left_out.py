"""A run that stopped after releases goes on with the same parties in that group, also when a lost one is back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.errors import ChannelError, InputError, PartyStoppedError
from hekat.protocol.horizontal.lattice_messages import BeginMessage, LeftOutMessage, SumBeginMessage
from hekat.protocol.horizontal.left_out import check_left_out, choose_left_out, groups_ahead


def leave_in(step):
    def hook(now_step, now_part):
        if (now_step, now_part) == (step, "sign"):
            raise ChannelError("left")

    return hook


@pytest.fixture
def three_rounds(lattice_settings):
    settings = lattice_settings(5)
    return replace(settings, training=replace(settings.training, round_count=3))


@pytest.fixture
def stop_after_releases(rehearse_lattice, meddle):
    """Plays a run whose aggregator goes down in a step when all members have released, and none of its sum is sent."""

    def play(settings, step, **others):
        def outgoing(to, name, message):
            if isinstance(message, SumBeginMessage) and name.startswith(f"{step}/"):
                raise ChannelError("the machine goes down")
            return [(name, message)]

        rehearsal = rehearse_lattice(settings, meddlers={"hub": meddle(outgoing)}, **others)
        with pytest.raises(PartyStoppedError, match="the machine goes down"):
            rehearsal.run()
        return rehearsal

    return play


def in_rounds(rehearsal):
    return [(record.round, record.party_count) for record in rehearsal.records]


@pytest.mark.parametrize("lost", ["b", "e"])
def test_a_party_that_is_back_is_left_out_of_a_round_that_was_released_without_it(
    lost, three_rounds, rehearse_lattice, stop_after_releases
) -> None:
    first = stop_after_releases(three_rounds, "round-2", hooks={lost: leave_in("round-2")})
    assert in_rounds(first) == [(1, 5)]
    resumed = rehearse_lattice(three_rounds, resume_from=first.saved[-1])
    resumed.run()
    assert in_rounds(resumed) == [(2, 4), (3, 4)]
    assert resumed.lost_names == [lost]
    assert "round-2 was opened in an earlier run without its update" in resumed.reasons
    # Those rounds are done: in a run that is resumed after them the party takes part again.
    longer = replace(three_rounds, training=replace(three_rounds.training, round_count=4))
    later = rehearse_lattice(longer, resume_from=resumed.saved[-1])
    later.run()
    assert in_rounds(later) == [(4, 5)]


def test_a_run_that_begins_anew_leaves_it_out_from_that_round_on(
    three_rounds, rehearse_lattice, stop_after_releases
) -> None:
    stop_after_releases(three_rounds, "round-2", hooks={"e": leave_in("round-2")})
    again = rehearse_lattice(three_rounds)
    again.run()
    assert in_rounds(again) == [(1, 5), (2, 4), (3, 4)]


def test_the_standardiser_is_a_group_like_any(three_rounds, rehearse_lattice, stop_after_releases) -> None:
    settings = replace(three_rounds, training=replace(three_rounds.training, standardise=True, round_count=1))
    stop_after_releases(settings, "standardise/scale", hooks={"e": leave_in("standardise/scale")})
    again = rehearse_lattice(settings)
    again.run()
    assert in_rounds(again) == [(1, 4)]
    assert "standardise was opened in an earlier run" in again.reasons


def test_an_authority_says_it_too(lattice_settings, rehearse_lattice, stop_after_releases) -> None:
    settings = lattice_settings(5, "authority")
    stop_after_releases(settings, "round-1", hooks={"e": leave_in("round-1")})
    again = rehearse_lattice(settings)
    again.run()
    assert in_rounds(again) == [(1, 4)]


def test_what_was_released_for_all_stops_nobody(three_rounds, rehearse_lattice, stop_after_releases) -> None:
    first = stop_after_releases(three_rounds, "round-2")
    resumed = rehearse_lattice(three_rounds, resume_from=first.saved[-1])
    resumed.run()
    assert in_rounds(resumed) == [(2, 5), (3, 5)]
    assert resumed.lost_names == []


# --- members that lie --------------------------------------------------------------------------------------------


def claim(groups):
    return lambda to, step, message: LeftOutMessage(groups) if isinstance(message, LeftOutMessage) else None


@pytest.mark.parametrize(
    "names",
    [["d", "e"], ["e", "e"], ["nobody"], ["hub"]],
    ids=["too many", "one twice", "no party", "the aggregator"],
)
def test_a_member_that_claims_what_cannot_be_is_given_up(names, play, lattice_settings) -> None:
    rehearsal, _, error = play(claim({"round-1": names}), role="b", settings=lattice_settings(5))
    assert error is None
    assert rehearsal.lost_names == ["b"]
    assert in_rounds(rehearsal) == [(1, 4)]


def test_an_authority_that_claims_what_cannot_be_ends_the_run(play, lattice_settings) -> None:
    settings = lattice_settings(5, "authority")
    _, _, error = play(claim({"round-1": ["d", "e"]}), role="notary", settings=settings)
    assert isinstance(error.__cause__, InputError)
    assert "at most 1 left out" in str(error)


def test_a_member_alone_has_its_false_claim_followed_and_sees_nothing_by_it(play, lattice_settings) -> None:
    """It could have the party left out by lying about its shares as well."""
    rehearsal, watch, error = play(claim({"round-1": ["e"]}), role="b", settings=lattice_settings(5))
    assert error is None
    assert rehearsal.lost_names == ["e"]
    assert all("e" not in message.participants for _, _, message in watch.received if isinstance(message, BeginMessage))


def test_a_false_claim_against_true_ones_loses(three_rounds, play, stop_after_releases) -> None:
    first = stop_after_releases(three_rounds, "round-2", hooks={"e": leave_in("round-2")})
    rehearsal, _, error = play(claim({"round-2": ["d"]}), role="b", settings=three_rounds, resume_from=first.saved[-1])
    assert error is None
    assert rehearsal.lost_names == ["e"]


# --- the parts ---------------------------------------------------------------------------------------------------


def test_the_groups_ahead_are_those_of_all_sums_to_come(lattice_settings) -> None:
    settings = lattice_settings(5)
    with_standardiser = replace(settings, training=replace(settings.training, standardise=True, round_count=3))
    assert groups_ahead(with_standardiser, 0) == ["standardise", "round-1", "round-2", "round-3"]
    assert groups_ahead(with_standardiser, 2) == ["round-3"]
    assert groups_ahead(with_standardiser, 3) == []
    assert groups_ahead(settings, 0) == ["round-1"]


def test_most_of_those_that_say_anything_decide(lattice_settings) -> None:
    told = [
        LeftOutMessage({}),
        LeftOutMessage({"round-1": ["a", "b"]}),
        LeftOutMessage({"round-1": ["c"], "round-2": ["c"]}),
        LeftOutMessage({"round-1": ["b", "a"]}),
    ]
    assert choose_left_out(told) == {"round-1": ("a", "b"), "round-2": ("c",)}
    assert choose_left_out([]) == {}


def test_a_possible_claim_passes(lattice_settings) -> None:
    check_left_out(LeftOutMessage({"round-1": ["e"], "round-2": []}), lattice_settings(5), 4)
