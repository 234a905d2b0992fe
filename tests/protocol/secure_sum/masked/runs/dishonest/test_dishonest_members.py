"""Members that answer, report or release wrongly: caught, named where that is possible, and sums open all the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import AlteredSumError, ChannelError, InputError, ProtocolError
from hekat.ledger import audit
from hekat.protocol.secure_sum.masked.messages import (
    CheckedMessage,
    OpenedMessage,
    ReleasedMessage,
    ShareMessage,
)
from hekat.protocol.secure_sum.masked.opening.field import PRIME
from hekat.protocol.secure_sum.masked.opening.share_message import NO_SHARE

DEGREE = 2048


def leave(step: str, part: str) -> None:
    if part == "sign":
        raise ChannelError("left before it signed")


def given_up(played, words: str, party: str = "b", count: int = 4):
    """The run finished without that member, which was told why."""
    rehearsal, _, error = played
    assert error is None
    assert rehearsal.lost_names == [party]
    assert words in rehearsal.reasons
    assert [record.party_count for record in rehearsal.records] == [count]
    (check,) = rehearsal.exactness_check.checks
    assert check.largest_error <= check.bound


# --- the share check -------------------------------------------------------------------------------------------------


def checked(change):
    def changed(to, step, message):
        return change(message) if isinstance(message, CheckedMessage) else None

    return changed


def refuse(answer, *dealers):
    return replace(
        answer,
        refused=dict.fromkeys(dealers, NO_SHARE),
        values={dealer: values for dealer, values in answer.values.items() if dealer not in dealers},
    )


def values_of(answer, **changed):
    return replace(answer, values=answer.values | changed)


ANSWERS = {
    "another challenge": (lambda answer: replace(answer, challenge_digest=bytes(32)), "another challenge"),
    "no values": (lambda answer: replace(answer, values={}), "did not answer for every dealer"),
    "a stranger": (lambda answer: values_of(answer, eve=answer.values["a"]), "did not answer for every dealer"),
    "refused and valued": (lambda answer: replace(answer, refused={"a": NO_SHARE}), "did not answer for every dealer"),
    "too few values": (lambda answer: values_of(answer, a=answer.values["a"][:7]), "malformed check values"),
    "out of range": (lambda answer: values_of(answer, a=np.full(8, PRIME, np.uint64)), "malformed check values"),
    "wide": (lambda answer: values_of(answer, a=answer.values["a"] + np.uint64(1 << 16)), "malformed check values"),
    "another reason": (
        lambda answer: replace(refuse(answer, "a"), refused={"a": "I do not like it"}),
        "a reason that is none",
    ),
    "all refused": (lambda answer: refuse(answer, *"abcde"), "it refuses too many shares"),
    "two refused": (lambda answer: refuse(answer, "a", "c"), "it refuses too many shares"),
    "nothing": (lambda answer: [], "upload-0/checked"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_member_whose_answer_is_none_is_given_up(answer, play) -> None:
    change, words = ANSWERS[answer]
    given_up(play(checked(change), role="b"), words)


def test_a_member_that_lies_about_all_dealers_is_named_where_two_more_agree(play, masked_settings) -> None:
    """Seven members, five needed: without the liar six answers are one more than lie on any polynomial."""

    def lie(answer):
        return replace(answer, values={d: (v + np.uint64(1)) % np.uint64(PRIME) for d, v in answer.values.items()})

    given_up(play(checked(lie), role="b", settings=masked_settings(8)), "gave check values that fit no others", count=7)


def test_with_one_member_to_spare_a_liar_ends_the_run(play) -> None:
    """Five answers and polynomials through any four: whose are wrong cannot be told, and the reason claims no more."""

    def lie(answer):
        return replace(answer, values={d: (v + np.uint64(1)) % np.uint64(PRIME) for d, v in answer.values.items()})

    rehearsal, _, error = play(checked(lie), role="b")
    assert isinstance(error.__cause__, ProtocolError)
    assert "what members answer of its shares lies on no polynomial" in str(error)
    assert rehearsal.records == []


def test_a_member_that_refuses_one_honest_dealer_costs_that_one_and_is_named_beside_it(play) -> None:
    given_up(play(checked(lambda answer: refuse(answer, "d")), role="b"), "member 2: no share came", party="d")


# --- releases --------------------------------------------------------------------------------------------------------


def garbage(content: bytes) -> bytes:
    return np.random.default_rng(5).integers(0, PRIME, DEGREE).astype("<u2").tobytes()


GARBAGE = {
    "random": garbage,
    "zeros": lambda content: bytes(len(content)),
    "out of range": lambda content: b"\xff" * len(content),
}


@pytest.mark.parametrize("content", GARBAGE)
def test_a_wrong_release_is_named_by_every_party_and_the_sum_opens(content, lie_in_releases, play, tmp_path) -> None:
    lie_in_releases("b", lambda truth, index: GARBAGE[content](truth))
    rehearsal, _, error = play(lambda *message: None, ledger_folder=tmp_path)
    assert error is None
    assert rehearsal.lost == []
    (check,) = rehearsal.exactness_check.checks
    assert check.largest_error <= check.bound
    assert [record.party_count for record in rehearsal.records] == [5]
    for name in "abcde":
        ledger = (tmp_path / f"{name}.jsonl").read_text()
        assert "a release that does not fit, of b" in ledger, name
    hub = (tmp_path / "hub.jsonl").read_text()
    assert [name for name in "abcde" if f"{name} found a release that does not fit, of b" in hub] == list("abcde")


@pytest.mark.parametrize("cut", [2, 1, 2 * DEGREE])
def test_a_release_of_another_size_costs_its_member_the_run(cut, lie_in_releases, play) -> None:
    lie_in_releases("b", lambda truth, index: truth[:-cut])
    given_up(play(lambda *message: None), "a release of another size", count=5)


@pytest.mark.parametrize("other", [ShareMessage(b"no release"), OpenedMessage(True, [])])
def test_a_release_of_another_kind_costs_its_member_the_run(other, play) -> None:
    def changed(to, step, message):
        return other if isinstance(message, ReleasedMessage) else None

    given_up(play(changed, role="b"), "upload-0/released", count=5)


RELEASED = {
    "another set": lambda message: replace(message, statement_digest=bytes(32)),
    "another signature": lambda message: replace(message, signature=bytes(64)),
    "another release": lambda message: replace(message, release=message.release[::-1]),
}


@pytest.mark.parametrize("change", RELEASED)
def test_a_member_that_tells_the_aggregator_of_another_set_is_given_up(change, play) -> None:
    def changed(to, step, message):
        return RELEASED[change](message) if isinstance(message, ReleasedMessage) else None

    given_up(play(changed, role="b"), "it released for another set", count=5)


def test_a_member_that_does_not_release_is_given_up(play) -> None:
    def changed(to, step, message):
        return [] if isinstance(message, ReleasedMessage) else None

    given_up(play(changed, role="b"), "upload-0/released", count=5)


@pytest.mark.parametrize("liars", ["bd", "ag"])
def test_two_of_seven_may_lie(liars, rehearse_masked, masked_settings, lie_in_releases, expect_step) -> None:
    lie_in_releases(liars, lambda truth, index: garbage(truth))
    rehearsal = rehearse_masked(masked_settings(8))
    expect_step(rehearsal.run(), "abcdefgh")
    assert rehearsal.lost == []


def test_a_lie_that_keeps_within_the_bound_stops_the_run_and_names_nobody(lie_in_releases, play, tmp_path) -> None:
    """One coefficient off by one: other four of five then give another possible sum, and no honest member is blamed."""

    def off_by_one(content: bytes, index: int) -> bytes:
        values = np.frombuffer(content, "<u2").astype(np.uint32)
        values[5] = (values[5] + 1) % PRIME
        return values.astype("<u2").tobytes()

    lie_in_releases("b", off_by_one)
    _, watch, error = play(lambda *message: None, ledger_folder=tmp_path)
    assert isinstance(error.__cause__, ProtocolError)
    assert "the sum of round-1 does not open" in str(error)
    assert watch.opened_at == []
    for name in "abcde":
        assert "one sum; got several: wrong is member" in (tmp_path / f"{name}.jsonl").read_text(), name


@pytest.mark.quick_values
@pytest.mark.parametrize("content", ["random", "zeros", "out of range"])
@pytest.mark.parametrize("times", [1, 2])
def test_with_no_release_to_spare_all_mask_anew_after_a_lie(times, content, lie_in_releases, play) -> None:
    """Five members, four needed, one lost before it signed; b lies once or twice, and finds out as all others do."""
    lie_in_releases("b", lambda truth, index: GARBAGE[content](truth) if index < times else truth)
    rehearsal, watch, error = play(lambda *message: None, hooks={"e": leave})
    assert error is None
    assert rehearsal.lost_names == ["e"]
    assert [record.party_count for record in rehearsal.records] == [4]
    assert sorted(watch.opened_at) == list("abcd")
    (check,) = rehearsal.exactness_check.checks
    assert check.largest_error <= check.bound
    used = {name: state.uploads.next_value for name, state in rehearsal.upload_states.items()}
    assert used == {**dict.fromkeys("abcd", 1 + times), "e": 1}


def test_a_committee_of_three_masks_anew_after_a_lie(lie_in_releases, play, masked_settings) -> None:
    lie_in_releases("b", lambda truth, index: truth if index else garbage(truth))
    rehearsal, _, error = play(lambda *message: None, settings=masked_settings(3))
    assert error is None
    assert rehearsal.records[0].party_count == 3
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {2}


def test_a_member_that_always_lies_ends_the_run(lie_in_releases, play, masked_settings) -> None:
    lie_in_releases("b", lambda truth, index: garbage(truth))
    rehearsal, _, error = play(lambda *message: None, settings=masked_settings(3))
    assert isinstance(error.__cause__, ProtocolError)
    assert "the sum of round-1 does not open" in str(error)
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {3}


def test_what_a_lost_member_released_counts(play, masked_settings) -> None:
    """c is lost at the opening, and of three members none may be missing: the aggregator has its release."""

    def leave_before_opening(step: str, part: str) -> None:
        if part == "open":
            raise ChannelError("left before it opened")

    rehearsal, _, error = play(lambda *message: None, settings=masked_settings(3), hooks={"c": leave_before_opening})
    assert error is None
    assert rehearsal.lost_names == ["c"]
    assert [record.party_count for record in rehearsal.records] == [3]


# --- the authority ---------------------------------------------------------------------------------------------------


SUMS = {
    "off by one": lambda content: (np.frombuffer(content, "<i4") + 1).astype("<i4").tobytes(),
    "beyond the bound": lambda content: np.full(DEGREE, 106, "<i4").tobytes(),
    "the least number": lambda content: np.full(DEGREE, -(2**31), "<i4").tobytes(),
    "truncated": lambda content: content[:-4],
    "empty": lambda content: b"",
}


@pytest.mark.parametrize("content", SUMS)
def test_a_wrong_sum_of_secrets_opens_nothing(content, lie_in_releases, play, masked_settings) -> None:
    lie_in_releases(["notary"], lambda truth, index: SUMS[content](truth))
    rehearsal, watch, error = play(lambda *message: None, settings=masked_settings(5, "authority"))
    kind, words = {
        "off by one": (AlteredSumError, "notary released another sum of secrets"),
        "truncated": (InputError, "a release of another size"),
        "empty": (InputError, "a release of another size"),
    }.get(content, (ProtocolError, "the sum of round-1 does not open"))
    assert type(error.__cause__) is kind, "only what could be a sum is tried on the uploads"
    assert words in str(error)
    assert watch.opened_at == []
    assert rehearsal.records == []


def test_after_an_error_of_an_authority_all_mask_anew(lie_in_releases, play, masked_settings) -> None:
    lie_in_releases(["notary"], lambda truth, index: truth if index else SUMS["beyond the bound"](truth))
    rehearsal, _, error = play(lambda *message: None, settings=masked_settings(5, "authority"))
    assert error is None
    assert rehearsal.records[0].party_count == 5


@pytest.mark.parametrize("change", [*RELEASED, "refuses everybody"])
def test_an_authority_that_does_otherwise_than_it_says_ends_the_run(change, play, masked_settings) -> None:
    def changed(to, step, message):
        if change in RELEASED:
            return RELEASED[change](message) if isinstance(message, ReleasedMessage) else None
        return refuse(message, *"abcde") if isinstance(message, CheckedMessage) else None

    rehearsal, _, error = play(changed, role="notary", settings=masked_settings(5, "authority"))
    assert error is not None
    assert rehearsal.records == []


def test_ledgers_with_notes_about_members_hold_together(lie_in_releases, play, tmp_path) -> None:
    lie_in_releases("b", lambda truth, index: garbage(truth))
    rehearsal, _, error = play(lambda *message: None, ledger_folder=tmp_path)
    assert error is None
    for name in rehearsal.settings.everyone:
        audit(tmp_path / f"{name}.jsonl", rehearsal.party_keys[name].public)
