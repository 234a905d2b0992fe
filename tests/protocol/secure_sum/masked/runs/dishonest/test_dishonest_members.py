"""Members that answer, report or release wrongly: caught, named where that is possible, and sums open all the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.protocol.secure_sum.masked.runs.conftest import Meddler

from hekat.errors import AlteredSumError, ChannelError, ProtocolError
from hekat.ledger import audit
from hekat.protocol.secure_sum.masked.messages import (
    CheckedMessage,
    OpenedMessage,
    OutcomeMessage,
    ReleasedMessage,
    ReleaseMessage,
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


def released(change):
    """Alters the releases to other parties: `change(content)`, None for no message."""

    def changed(to, step, message):
        if not isinstance(message, ReleaseMessage):
            return None
        content = change(message.content)
        return [] if content is None else replace(message, content=content)

    return changed


def garbage(content: bytes) -> bytes:
    return np.random.default_rng(5).integers(0, PRIME, DEGREE).astype("<u2").tobytes()


GARBAGE = {
    "random": garbage,
    "zeros": lambda content: bytes(len(content)),
    "out of range": lambda content: b"\xff" * len(content),
    "truncated": lambda content: content[:-2],
    "odd": lambda content: content[:-1],
    "empty": lambda content: b"",
    "none": lambda content: None,
}


@pytest.mark.parametrize("content", GARBAGE)
def test_a_wrong_release_is_named_by_every_party_and_the_sum_opens(content, play, expect_step, tmp_path) -> None:
    rehearsal, _, error = play(released(GARBAGE[content]), role="b", ledger_folder=tmp_path)
    assert error is None
    assert rehearsal.lost == []
    (check,) = rehearsal.exactness_check.checks
    assert check.largest_error <= check.bound
    assert [record.party_count for record in rehearsal.records] == [5]
    for name in "acde":
        ledger = (tmp_path / f"{name}.jsonl").read_text()
        assert "a release that does not fit, of b" in ledger, name
    hub = (tmp_path / "hub.jsonl").read_text()
    assert [name for name in "abcde" if f"{name} found a release that does not fit, of b" in hub] == list("acde")


@pytest.mark.parametrize("other", [ShareMessage(b"no release"), OpenedMessage(True, [], b"")])
def test_a_release_of_another_kind_is_named_too(other, play) -> None:
    def changed(to, step, message):
        return other if isinstance(message, ReleaseMessage) else None

    rehearsal, _, error = play(changed, role="b")
    assert error is None
    assert rehearsal.lost == []
    assert rehearsal.records[0].party_count == 5


def test_a_release_for_another_set_is_named_and_not_used(play, tmp_path) -> None:
    def changed(to, step, message):
        return replace(message, statement_digest=bytes(32)) if isinstance(message, ReleaseMessage) else None

    rehearsal, _, error = play(changed, role="b", ledger_folder=tmp_path)
    assert error is None
    assert rehearsal.records[0].party_count == 5
    assert "of b" in (tmp_path / "a.jsonl").read_text()


RELEASED = {
    "another set": lambda message: replace(message, statement_digest=bytes(32)),
    "another signature": lambda message: replace(message, signature=bytes(64)),
}


@pytest.mark.parametrize("change", RELEASED)
def test_a_member_that_tells_the_aggregator_of_another_set_is_given_up(change, play) -> None:
    def changed(to, step, message):
        return RELEASED[change](message) if isinstance(message, ReleasedMessage) else None

    given_up(play(changed, role="b"), "it released for another set", count=5)


def test_a_member_that_does_not_release_is_given_up(play) -> None:
    def changed(to, step, message):
        return [] if isinstance(message, ReleasedMessage | ReleaseMessage) else None

    given_up(play(changed, role="b"), "upload-0/released", count=5)


@pytest.mark.parametrize("liars", ["bd", "ag"])
def test_two_of_seven_may_lie(liars, rehearse_masked, masked_settings, meddle, expect_step) -> None:
    def outgoing(to, step, message):
        if isinstance(message, ReleaseMessage):
            message = replace(message, content=garbage(message.content))
        return [(step, message)]

    rehearsal = rehearse_masked(masked_settings(8), meddlers={name: meddle(outgoing) for name in liars})
    expect_step(rehearsal.run(), "abcdefgh")
    assert rehearsal.lost == []


def test_a_lie_that_keeps_within_the_bound_stops_the_run_and_names_nobody(play, tmp_path) -> None:
    """One coefficient off by one: other four of five then give another possible sum, and no honest member is blamed."""

    def off_by_one(content: bytes) -> bytes:
        values = np.frombuffer(content, "<u2").astype(np.uint32)
        values[5] = (values[5] + 1) % PRIME
        return values.astype("<u2").tobytes()

    _, _, error = play(released(off_by_one), role="b", ledger_folder=tmp_path)
    assert isinstance(error.__cause__, ProtocolError)
    assert "the sum of round-1 opens at some parties only" in str(error)
    assert "none that did at a, c, d, e" in str(error), "who lies to the others knows the truth"
    for name in "acde":
        assert "one sum; got several: wrong is member" in (tmp_path / f"{name}.jsonl").read_text(), name


def lie_at_first(times: int, change=garbage):
    """Releases garbage so many times to each party, and the truth from then on."""
    lies: Counter[str] = Counter()

    def changed(to, step, message):
        if isinstance(message, ReleaseMessage) and lies[to] < times:
            lies[to] += 1
            return replace(message, content=change(message.content))
        return None

    return changed


@pytest.mark.parametrize("content", ["random", "zeros", "odd"])
@pytest.mark.parametrize("times", [1, 2])
def test_with_no_release_to_spare_members_release_once_more_and_nothing_is_masked_anew(
    times, content, play, expect_step
) -> None:
    """Five members, four needed, one lost before it signed; b, which has the sum and goes on, lies once or twice."""
    rehearsal, watch, error = play(lie_at_first(times, GARBAGE[content]), role="b", hooks={"e": leave})
    assert error is None
    assert rehearsal.lost_names == ["e"]
    assert [record.party_count for record in rehearsal.records] == [4]
    (check,) = rehearsal.exactness_check.checks
    assert check.largest_error <= check.bound
    outcomes = [message for _, _, message in watch.received if isinstance(message, OutcomeMessage)]
    assert [(outcome.stands, list(outcome.again)) for outcome in outcomes] == [
        *[(False, ["a", "c", "d"])] * times,
        (True, []),
    ]
    used = {name: state.uploads.next_value for name, state in rehearsal.upload_states.items()}
    assert used == dict.fromkeys("abcde", 1)


def test_a_committee_of_three_releases_once_more_after_a_lie(play, masked_settings) -> None:
    rehearsal, _, error = play(lie_at_first(1), role="b", settings=masked_settings(3))
    assert error is None
    assert rehearsal.records[0].party_count == 3
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {1}


def test_a_member_that_always_lies_ends_the_run(play, masked_settings) -> None:
    rehearsal, _, error = play(lie_at_first(99), role="b", settings=masked_settings(3))
    assert isinstance(error.__cause__, ProtocolError)
    assert "the sum of round-1 opens at some parties only" in str(error)
    assert "sent 3 times at most; got none that did at a, c" in str(error)
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {1}


@pytest.mark.parametrize("names", [["a", "eve", "hub"], []])
def test_an_aggregator_that_asks_for_more_releases_obtains_none(names, play, masked_settings) -> None:
    """It says that the sum did not open at parties where it did: they signed no such thing, and have one release."""
    released: list[str] = []

    def note(channel):
        def outgoing(to, step, message):
            if isinstance(message, ReleaseMessage):
                released.append(to)
            return [(step, message)]

        return Meddler(channel, outgoing)

    def changed(to, step, message):
        if not isinstance(message, OutcomeMessage):
            return None
        return replace(message, stands=False, again=dict.fromkeys(names, bytes(64)))

    _, _, error = play(changed, settings=masked_settings(5), meddlers={"b": note})
    assert error is not None, "a sum that never stands ends the run"
    assert sorted(released) == list("acde")


def test_what_a_lost_member_released_counts_when_the_others_release_once_more(play, masked_settings) -> None:
    """b lies once, and c is lost at the opening: a, without c's second release, has its first. U stays what it was."""

    def leave_before_opening(step: str, part: str) -> None:
        if part == "open":
            raise ChannelError("left before it opened")

    rehearsal, _, error = play(
        lie_at_first(1), role="b", settings=masked_settings(3), hooks={"c": leave_before_opening}
    )
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
def test_a_wrong_sum_of_secrets_opens_nothing(content, play, masked_settings) -> None:
    rehearsal, _, error = play(released(SUMS[content]), role="notary", settings=masked_settings(5, "authority"))
    assert isinstance(error.__cause__, ProtocolError)
    altered = content == "off by one"
    assert isinstance(error.__cause__, AlteredSumError) is altered, "only what could be a sum is tried on the uploads"
    words = "notary released another sum of secrets" if altered else "the sum of round-1 does not open"
    assert words in str(error)
    assert rehearsal.records == []


def test_an_authority_that_errs_once_is_asked_again(play, masked_settings) -> None:
    change = lie_at_first(1, SUMS["beyond the bound"])
    rehearsal, _, error = play(change, role="notary", settings=masked_settings(5, "authority"))
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


def test_ledgers_with_notes_about_members_hold_together(play, tmp_path) -> None:
    rehearsal, _, error = play(released(garbage), role="b", ledger_folder=tmp_path)
    assert error is None
    for name in rehearsal.settings.everyone:
        audit(tmp_path / f"{name}.jsonl", rehearsal.party_keys[name].public)
