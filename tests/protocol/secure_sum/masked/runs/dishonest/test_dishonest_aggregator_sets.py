"""An aggregator that states other sets than parties signed, or two of them: nobody releases for what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.errors import HekatError
from hekat.protocol.secure_sum.masked import aggregator as masked_aggregator
from hekat.protocol.secure_sum.masked.messages import (
    BeginMessage,
    DealersMessage,
    DealtMessage,
    IncludedMessage,
    OpenedMessage,
    OutcomeMessage,
    ReleasedMessage,
    SumBeginMessage,
    SumBlockMessage,
)


def without(stated, *parties):
    """The statement with these parties left out of the set."""

    def left(entries):
        return {name: entry for name, entry in entries.items() if name not in parties}

    return replace(
        stated,
        upload_digests=left(stated.upload_digests),
        share_digests=left(stated.share_digests),
        salts=left(stated.salts),
        signatures=left(stated.signatures),
    )


# --- one set, not as it was signed -----------------------------------------------------------------------------------


def other_upload_digest(stated):
    return replace(stated, upload_digests=stated.upload_digests | {"b": bytes(32)})


def swapped_uploads(stated):
    digests, signatures = stated.upload_digests, stated.signatures
    return replace(
        stated,
        upload_digests=digests | {"a": digests["b"], "b": digests["a"]},
        signatures=signatures | {"a": signatures["b"], "b": signatures["a"]},
    )


def one_upload_twice(stated):
    """That of a stands for b as well."""
    return replace(
        stated,
        **{
            field: getattr(stated, field) | {"b": getattr(stated, field)["a"]}
            for field in ("upload_digests", "share_digests", "signatures")
        },
    )


def other_share_digest(stated):
    digests = list(stated.share_digests["b"])
    return replace(stated, share_digests=stated.share_digests | {"b": [bytes(32), *digests[1:]]})


def short_digest(stated):
    return replace(stated, upload_digests=stated.upload_digests | {"b": bytes(31)})


def other_signature(stated):
    return replace(stated, signatures=stated.signatures | {"b": stated.signatures["a"]})


def no_signature(stated):
    return replace(stated, signatures={party: sign for party, sign in stated.signatures.items() if party != "b"})


def a_stranger(stated):
    return replace(stated, upload_digests=stated.upload_digests | {"hub": bytes(32)})


def too_few(stated):
    return without(stated, "d", "e")


def nobody(stated):
    return without(stated, *"abcde")


CHANGES = {
    change.__name__: (change, words)
    for change, words in [
        (other_upload_digest, "did not sign"),
        (swapped_uploads, "did not sign"),
        (one_upload_twice, "holds an upload twice"),
        (other_share_digest, "did not sign|names other shares"),
        (short_digest, "malformed"),
        (other_signature, "did not sign"),
        (no_signature, "did not sign"),
        (a_stranger, "a party that takes no part"),
        (too_few, "is too small"),
        (nobody, "is too small"),
    ]
}


@pytest.mark.quick_values
@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_parties_did_not_sign_is_released_by_nobody(change, opening, play, masked_settings) -> None:
    alter, words = CHANGES[change]

    def changed(to, step, message):
        return alter(message) if isinstance(message, IncludedMessage) else None

    rehearsal, watch, error = play(changed, settings=masked_settings(5, opening))
    assert error is not None
    assert watch.senders_of(ReleasedMessage) == []
    assert watch.opened_at == []
    assert rehearsal.records == []
    assert any(word in f"{rehearsal.reasons} {error}" for word in words.split("|"))


def test_a_salt_that_a_party_did_not_sign_is_refused(play, masked_settings) -> None:
    def changed(to, step, message):
        return (
            replace(message, salts=message.salts | {"b": bytes(32)}) if isinstance(message, IncludedMessage) else None
        )

    rehearsal, watch, error = play(changed, settings=masked_settings(5, "shared"))
    assert error is not None
    assert watch.opened_at == []
    assert "a salt that 'b' did not sign" in rehearsal.reasons


def test_one_member_that_is_told_nonsense_refuses_and_the_others_go_on(play, expect_step) -> None:
    def changed(to, step, message):
        return other_signature(message) if isinstance(message, IncludedMessage) and to == "d" else None

    rehearsal, watch, error = play(changed)
    assert error is None
    assert rehearsal.lost_names == ["d"]
    assert watch.senders_of(ReleasedMessage) == ["a", "b", "c", "e"]
    assert rehearsal.records[0].party_count == 5


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_a_party_that_is_left_out_takes_no_part_in_what_follows(opening, play, masked_settings) -> None:
    """It would otherwise go on from a sum that its update is not in, and that it was told nothing about."""

    def changed(to, step, message):
        if isinstance(message, SumBeginMessage | SumBlockMessage):
            return []
        return without(message, "h") if isinstance(message, IncludedMessage) else None

    rehearsal, _, error = play(changed, settings=masked_settings(8, opening))
    assert error is not None, "the sum is of all eight, so it is kept back: it would end the run before h has"
    assert "h" in rehearsal.lost_names
    assert "the aggregator leaves this party out of a sum" in rehearsal.reasons
    assert rehearsal.records == []


def test_a_set_of_an_earlier_round_is_refused(play, masked_settings) -> None:
    first: list[IncludedMessage] = []

    def changed(to, step, message):
        if isinstance(message, IncludedMessage):
            first.append(message)
            return first[0]
        return None

    settings = masked_settings(5)
    settings = replace(settings, training=replace(settings.training, round_count=2))
    rehearsal, watch, error = play(changed, settings=settings)
    assert error is not None
    assert [record.round for record in rehearsal.records] == [1]
    assert watch.senders_of(ReleasedMessage, "round-2") == []
    assert "the parties do not hold the same before round-2" in rehearsal.reasons


def test_shares_that_dealers_did_not_sign_are_not_even_checked(play) -> None:
    def changed(to, step, message):
        if isinstance(message, DealersMessage):
            return replace(message, share_digests=message.share_digests | {"b": [bytes(32)] * 5})
        return None

    rehearsal, watch, error = play(changed)
    assert error is not None
    assert "shares that 'b' did not sign" in rehearsal.reasons
    assert watch.senders_of(ReleasedMessage) == []


def test_a_dealer_that_members_were_not_told_of_is_in_no_set(play) -> None:
    def changed(to, step, message):
        if isinstance(message, DealersMessage):
            fewer = {party: digests for party, digests in message.share_digests.items() if party != "b"}
            return replace(message, share_digests=fewer)
        return None

    _, watch, error = play(changed)
    assert error is not None
    assert watch.senders_of(ReleasedMessage) == []


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_an_unknown_parameter_set_is_refused_in_words(opening, play, masked_settings) -> None:
    def changed(to, step, message):
        return replace(message, parameter_set="A1-1") if isinstance(message, DealersMessage) else None

    rehearsal, watch, error = play(changed, settings=masked_settings(5, opening))
    assert "unknown parameter set" in f"{rehearsal.reasons} {error}"
    assert watch.senders_of(ReleasedMessage) == []


# --- two sets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told_without_h", ["efg", "fg", "bcdefg"])
def test_two_sets_told_to_different_members_open_one_of_them_at_most(
    told_without_h, play, masked_settings, monkeypatch
) -> None:
    """Seven members, five have to release: 4 and 3 open none, 5 and 2 the one set of the five, 1 and 6 that of six."""
    monkeypatch.setattr(masked_aggregator, "check_released", lambda *others: lambda party, message: None)

    def changed(to, step, message):
        if isinstance(message, SumBeginMessage):
            # Each party is passed on the releases for the set that it was told.
            told = [member for member in "abcdefg" if (member in told_without_h) == (to in told_without_h)]
            return replace(message, releases={member: message.releases[member] for member in told})
        return without(message, "h") if isinstance(message, IncludedMessage) and to in told_without_h else None

    rehearsal, watch, error = play(changed, settings=masked_settings(8))
    if len(told_without_h) == 2:
        assert error is None
        assert rehearsal.lost_names == ["f", "g"], "they have two releases for their set"
    else:
        assert error is not None
    assert len(rehearsal.records) == (len(told_without_h) == 2), "where a set opens, for the parties that were told it"
    first = [(sender, step) for sender, step, message in watch.received if isinstance(message, ReleasedMessage)]
    assert {sender for sender, step in first if "upload-0" in step} == set("abcdefg"), "all released, for one set each"
    may_open = {3: set(), 2: set("abcdeh"), 6: set("bcdefg")}[len(told_without_h)]
    opened = {
        sender for sender, step, message in watch.received if isinstance(message, OpenedMessage) and message.opened
    }
    # The sum itself is of all eight: without h's secret it does not open, whoever releases.
    assert opened <= may_open - set(told_without_h)
    if len(told_without_h) == 2:
        assert opened == set("abcdeh")


def test_an_honest_check_of_releases_names_members_that_were_told_another_set(play, masked_settings) -> None:
    def changed(to, step, message):
        return without(message, "h") if isinstance(message, IncludedMessage) and to in "fg" else None

    rehearsal, _, error = play(changed, settings=masked_settings(8))
    assert error is None
    assert rehearsal.lost_names == ["f", "g"]
    assert "it released for another set" in rehearsal.reasons
    assert rehearsal.records[0].party_count == 8


def restate(stated_the_second_time):
    """States another set in the second upload."""
    stated: list[str] = []

    def changed(to, step, message):
        if isinstance(message, IncludedMessage) and "upload-1" in step:
            stated.append(to)
            return stated_the_second_time(message)
        return None

    return changed


@pytest.fixture
def fails_at_first(lie_in_releases):
    """Has releases in the first upload fit together nowhere: all mask anew."""

    def begin(openers):
        lie_in_releases(openers, lambda content, index: content if index else b"\xff\x7f" * (len(content) // 2))

    return begin


def test_a_second_upload_of_the_same_parties_is_opened(fails_at_first, play, masked_settings, expect_step) -> None:
    settings = masked_settings(8)
    fails_at_first(settings.parties)
    rehearsal, watch, error = play(lambda *message: None, settings=settings)
    assert error is None
    assert len(watch.opened_at) == 8, "nobody opened the first"
    assert rehearsal.records[0].party_count == 8
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {2}


def test_a_party_that_has_opened_a_sum_masks_its_update_for_it_no_second_time(play, masked_settings) -> None:
    """The aggregator says that the sum opened nowhere: all go on or end the run, and nothing is uploaded again."""

    def changed(to, step, message):
        return OutcomeMessage(stands=False) if isinstance(message, OutcomeMessage) else None

    rehearsal, watch, error = play(changed, settings=masked_settings(5))
    assert error is not None
    assert sorted(watch.opened_at) == list("abcde")
    assert watch.senders_of(DealtMessage) == list("abcde")
    assert "opens here, and not at all parties" in rehearsal.reasons


@pytest.mark.parametrize("party_count", [5, 8])
def test_after_a_release_no_other_set_is_released_for_in_the_same_step(
    party_count, fails_at_first, play, masked_settings
) -> None:
    settings = masked_settings(party_count)
    last = settings.parties[-1]
    fails_at_first(settings.parties)
    rehearsal, watch, error = play(restate(lambda stated: without(stated, last)), settings=settings)
    assert error is not None
    assert watch.senders_of(ReleasedMessage, "upload-1") == []
    assert not [
        step for _, step, message in watch.received if isinstance(message, OpenedMessage) and "upload-1" in step
    ]
    assert "another set was released for in 'round-1'" in rehearsal.reasons


def test_the_authority_too_opens_one_set_in_a_step(fails_at_first, play, masked_settings) -> None:
    fails_at_first(["notary"])
    _, watch, error = play(restate(lambda stated: without(stated, "e")), settings=masked_settings(5, "authority"))
    assert "another set was released for in 'round-1'" in str(error)
    assert error.party == "notary"
    assert watch.senders_of(ReleasedMessage, "upload-1") == []


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_a_restart_does_not_forget_for_whom_was_released(opening, play, masked_settings, tmp_path) -> None:
    settings = masked_settings(8, opening)

    def leaves_out_h(to, step, message):
        return without(message, "h") if isinstance(message, IncludedMessage) else None

    _, watch, error = play(lambda *message: None, settings=settings)
    assert error is None
    rehearsal, watch, error = play(leaves_out_h, settings=settings)
    assert error is not None
    assert "another set was released for in 'round-1'" in f"{rehearsal.reasons} {error}"
    assert watch.senders_of(ReleasedMessage) == []
    # With a new state folder the same set is as good as any: it was the record that held it up.
    _, watch, _ = play(leaves_out_h, settings=settings, state_folder=tmp_path / "new")
    assert watch.senders_of(ReleasedMessage) != []


# --- who takes part --------------------------------------------------------------------------------------------------


@pytest.mark.quick_values
@pytest.mark.parametrize("participants", [[*"abcde", "hub"], [*"abcde", "a"], [*"abcde", "eve"]])
@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_releases_go_to_parties_of_the_job_alone(participants, opening, play, masked_settings) -> None:
    def changed(to, step, message):
        return (
            replace(message, participants=participants) if isinstance(message, BeginMessage) and message.step else None
        )

    rehearsal, watch, error = play(changed, settings=masked_settings(5, opening))
    assert "others than the job's parties" in f"{rehearsal.reasons} {error}"
    assert watch.senders_of(ReleasedMessage) == []


def test_the_authority_releases_nothing_with_an_aggregator_that_takes_part(
    rehearse_masked, masked_settings, meddle
) -> None:
    """Told alone that the aggregator takes part, it refuses."""
    sent = []

    def outgoing(to, step, message):
        if isinstance(message, BeginMessage) and to == "notary" and message.step:
            message = replace(message, participants=[*message.participants, "hub"])
        return [(step, message)]

    def released(to, step, message):
        sent.extend([to] if isinstance(message, ReleasedMessage) else [])
        return [(step, message)]

    rehearsal = rehearse_masked(
        masked_settings(5, "authority"), meddlers={"hub": meddle(outgoing), "notary": meddle(released)}
    )
    with pytest.raises(HekatError, match="others than the job's parties") as caught:
        rehearsal.run()
    assert caught.value.party == "notary"
    assert sent == []
