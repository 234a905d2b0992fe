"""Parties, the aggregator and the authority that are lost at every part of an upload: who goes on, with which sum."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.channel.departure import FailureElsewhereError
from hekat.errors import ChannelError, InputError, PartyLostError, PartyStoppedError, ProtocolError
from hekat.protocol.horizontal.stop_origin import trace_to_origin
from hekat.protocol.secure_sum.masked.messages import IncludedMessage, ReleasedMessage
from hekat.protocol.secure_sum.settings import CodecSettings

BEFORE_THE_STATEMENT = ("deal", "upload", "sign")
AFTER_IT = ("release", "open")
PARTS = (*BEFORE_THE_STATEMENT, *AFTER_IT)


def in_sum(parties, losses):
    """Whose updates the sum of a step holds: those who were there when it was stated."""
    return [party for party in parties if losses.get(party) not in BEFORE_THE_STATEMENT]


@pytest.mark.quick_cases("h-deal", "a-sign", "h-upload", "a-open", "h-release")
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("party", ["a", pytest.param("c", marks=pytest.mark.long), "h"])
def test_a_round_goes_on_without_a_lost_party(
    party, part, rehearse_masked, masked_settings, expect_step, leave_at
) -> None:
    """Eight parties: a and c are members of the committee of seven, h is none."""
    settings = masked_settings(8)
    rehearsal = rehearse_masked(settings, hooks={party: leave_at("round-1", part)})
    state = rehearsal.run()
    included = in_sum(settings.parties, {party: part})
    expect_step(state, included)
    assert rehearsal.lost_names == [party]
    assert f"left before {part}" in str(rehearsal.lost[0])
    assert [record.party_count for record in rehearsal.records] == [len(included)]
    (check,) = rehearsal.exactness_check.checks
    assert 0 < check.largest_error <= check.bound


@pytest.mark.quick_values
@pytest.mark.parametrize("opening", ["authority", "shared"])
@pytest.mark.parametrize("part", PARTS)
def test_the_other_openers_bear_a_loss_too(
    opening, part, rehearse_masked, masked_settings, expect_step, leave_at
) -> None:
    settings = masked_settings(5, opening)
    rehearsal = rehearse_masked(settings, hooks={"b": leave_at("round-1", part)})
    included = in_sum(settings.parties, {"b": part})
    expect_step(rehearsal.run(), included)
    assert rehearsal.lost_names == ["b"]
    assert rehearsal.records[0].party_count == len(included)


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "party", "part"),
    [
        ("standardise/scale", "a", "sign"),
        pytest.param("standardise/variance", "h", "open", marks=pytest.mark.long),
    ],
)
def test_the_standardiser_is_agreed_on_without_a_lost_party(
    step, party, part, rehearse_masked, masked_settings, leave_at
) -> None:
    settings = masked_settings(8)
    settings = replace(settings, training=replace(settings.training, standardise=True))
    rehearsal = rehearse_masked(settings, hooks={party: leave_at(step, part)})
    rehearsal.run()
    assert rehearsal.lost_names == [party]
    assert [check.step for check in rehearsal.exactness_check.checks] == [
        "standardise/mean",
        "standardise/variance",
        "round-1",
    ]
    assert all(check.largest_error <= check.bound for check in rehearsal.exactness_check.checks)
    assert [record.party_count for record in rehearsal.records] == [7]


@pytest.mark.long_cases("round-1-h-sign")
@pytest.mark.parametrize(
    ("step", "party", "part"),
    [
        ("standardise/mean", "h", "deal"),
        pytest.param("standardise/deviation", "c", "open", marks=pytest.mark.long),
        pytest.param("standardise/variance", "b", "sign", marks=pytest.mark.long),
        ("round-1", "h", "sign"),
    ],
)
def test_no_two_sums_of_the_same_rows_are_of_different_parties(
    step, party, part, rehearse_masked, masked_settings, leave_at
) -> None:
    """The standardiser's sums, and a first round's histogram and update, would tell the lost party's part apart."""
    settings = masked_settings(8, codec=CodecSettings())
    settings = replace(settings, training=replace(settings.training, standardise=True))
    rehearsal = rehearse_masked(settings, hooks={party: leave_at(step, part)})
    group = step.split("/")[0]
    with pytest.raises(PartyStoppedError, match=f"a party is lost in the middle of '{group}'.*lost: {party}"):
        rehearsal.run()
    assert rehearsal.records == []


@pytest.mark.parametrize(
    "losses",
    [
        {"b": "sign", "g": "sign"},
        pytest.param({"b": "deal", "h": "open"}, marks=pytest.mark.long),
        pytest.param({"a": "release", "g": "release"}, marks=pytest.mark.long),
        {"g": "upload", "c": "open"},
    ],
    ids=lambda losses: "-".join(f"{party}-{part}" for party, part in losses.items()),
)
def test_eight_parties_bear_two_losses_in_one_round(
    losses, rehearse_masked, masked_settings, expect_step, leave_at
) -> None:
    settings = masked_settings(8)
    hooks = {party: leave_at("round-1", part) for party, part in losses.items()}
    rehearsal = rehearse_masked(settings, hooks=hooks)
    included = in_sum(settings.parties, losses)
    expect_step(rehearsal.run(), included)
    assert set(rehearsal.lost_names) == set(losses)
    assert rehearsal.records[0].party_count == len(included)


@pytest.mark.long
def test_losses_in_different_rounds_add_up(rehearse_masked, masked_settings, leave_at) -> None:
    settings = masked_settings(8)
    settings = replace(settings, training=replace(settings.training, round_count=4))
    rehearsal = rehearse_masked(settings, hooks={"g": leave_at("round-2", "release"), "h": leave_at("round-3", "sign")})
    assert rehearsal.run().rounds_done == 4
    assert [record.party_count for record in rehearsal.records] == [8, 8, 6, 6]
    assert [record.row_count for record in rehearsal.records][-1] == 24 + 9 + 40 + 17 + 31 + 12


@pytest.mark.parametrize("part", PARTS)
def test_the_first_party_may_be_lost_and_each_round_is_still_told_and_kept_once(
    part, rehearse_masked, masked_settings, leave_at
) -> None:
    settings = masked_settings(5)
    settings = replace(settings, training=replace(settings.training, round_count=4))
    rehearsal = rehearse_masked(settings, hooks={"a": leave_at("round-2", part)})
    state = rehearsal.run()
    assert rehearsal.lost_names == ["a"]
    assert [record.round for record in rehearsal.records] == [1, 2, 3, 4]
    assert [saved.rounds_done for saved in rehearsal.saved] == [1, 2, 3, 4]
    for name, values in state.parameters.items():
        assert values.tobytes() == rehearsal.saved[-1].parameters[name].tobytes()


# --- one too many ----------------------------------------------------------------------------------------------------


def stopped(rehearsal) -> PartyStoppedError:
    with pytest.raises(PartyStoppedError) as caught:
        rehearsal.run()
    return caught.value


@pytest.mark.parametrize("part", BEFORE_THE_STATEMENT)
@pytest.mark.parametrize(
    "opening", ["committee", *(pytest.param(one, marks=pytest.mark.long) for one in ("authority", "shared"))]
)
def test_one_party_too_few_ends_the_run_and_names_the_lost(
    opening, part, rehearse_masked, masked_settings, leave_at
) -> None:
    settings = masked_settings(5, opening)
    settings = replace(settings, training=replace(settings.training, round_count=3))
    rehearsal = rehearse_masked(settings, hooks={"b": leave_at("round-2", part), "e": leave_at("round-2", part)})
    stop = stopped(rehearsal)
    assert stop.party == "hub"
    assert isinstance(stop.__cause__, ProtocolError)
    assert "too few parties are left for round-2" in str(stop)
    assert "at least 4 of 5" in str(stop)
    assert "b (in step" in str(stop)
    assert "e (in step" in str(stop)
    assert stop.saved == "checkpoint of round 1"
    assert [saved.rounds_done for saved in rehearsal.saved] == [1]
    assert [record.round for record in rehearsal.records] == [1]


@pytest.mark.parametrize("part", PARTS)
def test_a_committee_of_three_bears_no_loss_before_it_has_released(
    part, rehearse_masked, masked_settings, expect_step, leave_at
) -> None:
    rehearsal = rehearse_masked(masked_settings(3), hooks={"c": leave_at("round-1", part)})
    if part == "open":
        # Its update and its release are there already.
        expect_step(rehearsal.run(), "abc")
        return
    stop = stopped(rehearsal)
    assert isinstance(stop.__cause__, ProtocolError)
    assert "too few" in str(stop)
    assert "c (in step" in str(stop)


def test_one_member_too_few_ends_the_run_and_names_the_lost(rehearse_masked, masked_settings, leave_at) -> None:
    hooks = {party: leave_at("round-1", "release") for party in "bd"}
    stop = stopped(rehearse_masked(masked_settings(5), hooks=hooks))
    assert isinstance(stop.__cause__, ProtocolError)
    assert "too few members are left to open the sum of round-1" in str(stop)
    assert "4 of a, b, c, d, e" in str(stop)
    assert "b (in step" in str(stop)
    assert "d (in step" in str(stop)


def test_members_are_counted_before_anybody_releases(rehearse_masked, masked_settings, meddle, leave_at) -> None:
    """Of six parties four make a sum, but four members are too few to open one: nobody is asked to release."""
    stated = []

    def outgoing(to, step, message):
        stated.extend([message] if isinstance(message, IncludedMessage) else [])
        return [(step, message)]

    hooks = {party: leave_at("round-1", "sign") for party in "ab"}
    stop = stopped(rehearse_masked(masked_settings(6), hooks=hooks, meddlers={"hub": meddle(outgoing)}))
    assert "too few members are left to open the sum of round-1" in str(stop)
    assert stated == []


def test_everybody_lost_at_once_is_said_so(rehearse_masked, masked_settings, leave_at) -> None:
    hooks = dict.fromkeys("abcde", leave_at("round-1", "deal"))
    rehearsal = rehearse_masked(masked_settings(5), hooks=hooks)
    stop = stopped(rehearsal)
    assert isinstance(stop.__cause__, ProtocolError)
    assert "too few parties are left for round-1" in str(stop)
    assert set(rehearsal.lost_names) == set("abcde")


# --- who may not be lost ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_without_the_aggregator_the_run_ends(opening, rehearse_masked, masked_settings, meddle) -> None:
    def outgoing(to, step, message):
        if isinstance(message, IncludedMessage) and to == "c":
            raise ChannelError("the machine goes down")
        return [(step, message)]

    stop = stopped(rehearse_masked(masked_settings(5, opening), meddlers={"hub": meddle(outgoing)}))
    assert stop.party == "hub"
    assert "the machine goes down" in str(stop)


def test_without_the_authority_the_run_ends(rehearse_masked, masked_settings, meddle) -> None:
    def outgoing(to, step, message):
        if isinstance(message, ReleasedMessage):
            raise ChannelError("the machine goes down")
        return [(step, message)]

    stop = stopped(rehearse_masked(masked_settings(5, "authority"), meddlers={"notary": meddle(outgoing)}))
    assert stop.party == "notary"
    assert "the machine goes down" in str(stop)


@pytest.mark.parametrize("party", ["a", "d"])
def test_the_run_begins_with_everybody(party, rehearse_masked, masked_settings) -> None:
    def leave(channel):
        raise ChannelError("no network today")

    stop = stopped(rehearse_masked(masked_settings(5), stand_ins={party: leave}))
    assert stop.party == party
    assert "no network today" in str(stop)


def test_a_run_is_not_said_to_end_by_what_was_lost_only_after_its_end() -> None:
    """`e` raises by itself when the aggregator has given up already: the aggregator's own reason stands."""
    stop = PartyStoppedError("too few parties are left", party="hub")
    stop.__cause__ = ProtocolError("too few parties are left")
    loss = PartyLostError("party 'e' was lost", party="e")
    loss.__cause__ = InputError("of its own")
    assert trace_to_origin(stop, [loss], "hub").party == "e"
    loss.after_stop = True
    assert trace_to_origin(stop, [loss], "hub") is stop


@pytest.mark.parametrize(
    ("raised", "origin"), [("InputError", "e"), ("ChannelError", "hub"), ("its process ended", "hub")]
)
def test_the_party_whose_error_ended_a_run_in_processes_is_named_by_its_kind(raised: str, origin: str) -> None:
    stop = PartyStoppedError("too few parties are left", party="hub")
    stop.__cause__ = FailureElsewhereError("ProtocolError")
    loss = PartyLostError("party 'e' was lost", party="e")
    loss.__cause__ = FailureElsewhereError(raised)
    assert trace_to_origin(stop, [loss], "hub").party == origin
