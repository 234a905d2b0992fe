"""Parties that deal wrong shares or upload what they did not sign: caught, named, left out, and the others go on."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from hekat.errors import AlteredSumError, PartyStoppedError
from hekat.protocol.secure_sum.agreement.messages import RangeMessage
from hekat.protocol.secure_sum.masked.messages import (
    DealersMessage,
    DealtMessage,
    MaskedBlockMessage,
    OpenedMessage,
    ReleasedMessage,
    ShareKeysMessage,
    ShareMessage,
    StatementMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.masked.opening.field import PRIME
from hekat.protocol.secure_sum.masked.opening.included import UPLOAD_PURPOSE, upload_fields
from hekat.protocol.secure_sum.masked.opening.opening_schemes import CommitteeScheme
from hekat.protocol.secure_sum.masked.opening.share_keys import KEY_BYTES
from hekat.protocol.secure_sum.masked.opening.share_message import SALT_BYTES, share_digest
from hekat.protocol.secure_sum.masked.opening.shared import draw_salt
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.scheme.lattice import generate_secret

REST = tuple("abce")


def left_out(played, words: str, party: str = "d"):
    """The run finished without that one party, which was told why; returns the rehearsal."""
    rehearsal, _, error = played
    assert error is None
    assert rehearsal.lost_names == [party]
    assert "'hub' gave up on it" in rehearsal.reasons
    assert words in rehearsal.reasons
    assert [record.party_count for record in rehearsal.records] == [4]
    (check,) = rehearsal.exactness_check.checks
    assert check.largest_error <= check.bound
    return rehearsal


# --- shares ----------------------------------------------------------------------------------------------------------


def to_b(change):
    """Alters the keys of shares for b: `change(keys)`, None for no message at all."""

    def changed(to, step, message):
        if not isinstance(message, ShareKeysMessage) or to != "b":
            return None
        keys = change(message.keys)
        return [] if keys is None else ShareKeysMessage(keys)

    return changed


UNSIGNED = "a share that is not the one its dealer signed"
SHARES = {
    "another key": (lambda keys: keys[:-1] + bytes([keys[-1] ^ 1]), UNSIGNED),
    "in another order": (lambda keys: keys[KEY_BYTES:] + keys[:KEY_BYTES], UNSIGNED),
    "a key less": (lambda keys: keys[:-KEY_BYTES], "a share of another length"),
    "truncated": (lambda keys: keys[:-2], "a share of another length"),
    "too long": (lambda keys: keys + bytes(KEY_BYTES), "a share of another length"),
    "empty": (lambda keys: b"", "a share of another length"),
    "none": (lambda keys: None, "no share came"),
}


@pytest.mark.parametrize("share", SHARES)
def test_a_member_that_gets_a_wrong_share_reports_its_dealer(share, play, expect_step) -> None:
    change, words = SHARES[share]
    left_out(play(to_b(change), role="d"), f"member 2: {words}")


@pytest.mark.quick_values
@pytest.mark.parametrize("opening", ["committee", "authority"])
@pytest.mark.parametrize("to", ["first", "everybody"])
def test_shares_that_never_come_are_not_waited_for_longer_than_a_member_is(opening, to, play, masked_settings) -> None:
    """The first member waits for a share while the aggregator waits for that member: the dealer is given up, not it."""
    settings = masked_settings(5, opening)
    missing = {"first": "a" if opening == "committee" else "notary"}.get(to)

    def changed(receiver, step, message):
        return [] if isinstance(message, ShareMessage | ShareKeysMessage) and missing in (None, receiver) else None

    left_out(play(changed, role="d", settings=settings), "no share came")


def test_a_seed_of_another_digest_is_reported_by_the_authority(play, masked_settings) -> None:
    def changed(to, step, message):
        return ShareMessage(bytes(32)) if isinstance(message, ShareMessage) else None

    left_out(play(changed, role="d", settings=masked_settings(5, "authority")), "not the one its dealer signed")


def deal_with(monkeypatch, alter):
    """The dealer d signs `alter(offset, keys of b)`, an offset as bytes and keys, in place of these."""
    original = CommitteeScheme.deal

    def deal(scheme, context, dealer, *others):
        dealt = original(scheme, context, dealer, *others)
        if dealer != "d":
            return dealt
        offset, keys = alter(dealt.offset, dealt.messages["b"])
        messages = {**dealt.messages, "b": keys}
        digests = tuple(share_digest(context, dealer, member, held, offset) for member, held in messages.items())
        return replace(dealt, messages=messages, offset=offset, digests=digests)

    monkeypatch.setattr(CommitteeScheme, "deal", deal)


def nothing(to, step, message):
    return None


def test_a_signed_share_out_of_range_is_reported(play, monkeypatch) -> None:
    def alter(offset, keys):
        return offset[: SALT_BYTES + 14] + PRIME.to_bytes(2, "little") + offset[SALT_BYTES + 16 :], keys

    deal_with(monkeypatch, alter)
    left_out(play(nothing), ": a share out of range")


def test_signed_shares_that_lie_on_no_polynomial_are_found(play, monkeypatch) -> None:
    """d gives b another key than the other members that hold it, and signs it."""

    def other_key(keys):
        return keys[:-1] + bytes([keys[-1] ^ 1])

    def changed(to, step, message):
        return (
            ShareKeysMessage(other_key(message.keys)) if isinstance(message, ShareKeysMessage) and to == "b" else None
        )

    deal_with(monkeypatch, lambda offset, keys: (offset, other_key(keys)))
    left_out(play(changed, role="d"), "lies on no polynomial")


def test_an_offset_that_its_dealer_did_not_sign_stops_the_members(play) -> None:
    """The aggregator alters it on the way, for one member: it is not the dealer that is given up."""

    def changed(to, step, message):
        if isinstance(message, DealersMessage) and to == "b":
            offset = message.offsets["d"]
            return replace(message, offsets={**message.offsets, "d": offset[:-1] + bytes([offset[-1] ^ 1])})
        return None

    rehearsal, watch, _ = play(changed)
    assert rehearsal.lost_names == ["b"]
    assert "the aggregator states shares that 'd' did not sign" in rehearsal.reasons
    assert watch.senders_of(ReleasedMessage) == list("acde")


def test_shares_of_another_secret_than_the_uploads_open_nothing(play, monkeypatch) -> None:
    """Consistent and small, so nobody can tell whose they are; the count lanes find it, and the run ends."""
    original = CommitteeScheme.deal

    def deal(scheme, context, dealer, parameters, keys):
        dealt = original(scheme, context, dealer, parameters, keys)
        return replace(dealt, secret=generate_secret(parameters)) if dealer == "d" else dealt

    monkeypatch.setattr(CommitteeScheme, "deal", deal)
    rehearsal, watch, error = play(nothing)
    assert isinstance(error.__cause__, AlteredSumError)
    assert "or a party uploaded what it had not dealt" in str(error)
    assert watch.opened_at == []
    assert rehearsal.records == []


# --- what a dealer states --------------------------------------------------------------------------------------------


DEALT = {
    "another signature": lambda dealt: replace(dealt, signature=bytes(64)),
    "other digests": lambda dealt: replace(dealt, share_digests=[bytes(32)] * 5),
    "short digests": lambda dealt: replace(dealt, share_digests=[bytes(31)] * 5),
    "too few digests": lambda dealt: replace(dealt, share_digests=dealt.share_digests[:4]),
    "another set": lambda dealt: replace(dealt, parameter_set="A16-128"),
    "no set": lambda dealt: replace(dealt, parameter_set="A1-1"),
    "another offset": lambda dealt: replace(dealt, offset=bytes(len(dealt.offset))),
    "a short offset": lambda dealt: replace(dealt, offset=dealt.offset[:-2]),
    "no offset": lambda dealt: replace(dealt, offset=b""),
}
UPLOAD = {
    "another set": lambda upload: replace(upload, parameter_set="A16-128"),
    "another size": lambda upload: replace(upload, lane_count=upload.lane_count + 1),
    "no size": lambda upload: replace(upload, lane_count=0),
    "a huge size": lambda upload: replace(upload, lane_count=2**62),
    "another agreement": lambda upload: replace(upload, agreement=bytes(32)),
    "no agreement": lambda upload: replace(upload, agreement=b""),
}


@pytest.mark.parametrize("change", DEALT)
def test_a_dealer_that_states_what_cannot_be_is_left_out(change, play) -> None:
    def changed(to, step, message):
        return DEALT[change](message) if isinstance(message, DealtMessage) else None

    left_out(play(changed, role="d"), "round-1")


@pytest.mark.parametrize("change", UPLOAD)
def test_a_party_that_announces_an_upload_that_cannot_be_is_left_out(change, play) -> None:
    def changed(to, step, message):
        return UPLOAD[change](message) if isinstance(message, UploadMessage) else None

    left_out(play(changed, role="d"), "round-1")


@pytest.mark.parametrize("opening", ["authority", "shared"])
def test_the_other_openers_check_what_is_dealt_too(opening, play, masked_settings) -> None:
    def changed(to, step, message):
        return replace(message, signature=bytes(64)) if isinstance(message, DealtMessage) else None

    left_out(play(changed, role="d", settings=masked_settings(5, opening)), "a signature that does not hold")


# --- uploads ---------------------------------------------------------------------------------------------------------


def block(change):
    def changed(to, step, message):
        if not isinstance(message, MaskedBlockMessage):
            return None
        return [(step, MaskedBlockMessage(written)) for written in change(message.written)]

    return changed


def statement(change):
    def changed(to, step, message):
        return change(message) if isinstance(message, StatementMessage) else None

    return changed


UPLOADS = {
    "truncated": (block(lambda written: [written[:-1]]), "a block of another size"),
    "too long": (block(lambda written: [written + b"\0"]), "a block of another size"),
    "empty": (block(lambda written: [b""]), "a block of another size"),
    "in halves": (block(lambda written: [written[:9], written[9:]]), "a block of another size"),
    "twice": (block(lambda written: [written, written]), "upload-0/statement"),
    "none": (block(lambda written: []), "upload-0/block"),
    "another": (block(lambda written: [bytes(len(written))]), "its statement is not of what it sent"),
    "another digest": (
        statement(lambda stated: replace(stated, upload_digest=bytes(32))),
        "its statement is not of what it sent",
    ),
    "another signature": (
        statement(lambda stated: replace(stated, signature=bytes(64))),
        "its signature does not hold",
    ),
    "a salt": (statement(lambda stated: replace(stated, salt=bytes(32))), "its salt is not the one it signed"),
    "no statement": (statement(lambda stated: []), "upload-0/statement"),
}


@pytest.mark.parametrize("upload", UPLOADS)
def test_an_upload_that_is_not_what_was_signed_is_left_out(upload, play) -> None:
    change, words = UPLOADS[upload]
    left_out(play(change, role="d"), words)


def test_an_upload_of_an_earlier_round_is_left_out(play, masked_settings) -> None:
    settings = masked_settings(5)
    settings = replace(settings, training=replace(settings.training, round_count=2))
    first: dict[type, object] = {}

    def changed(to, step, message):
        if isinstance(message, MaskedBlockMessage | StatementMessage):
            return first.setdefault(type(message), message)
        return None

    rehearsal, _, error = play(changed, role="d", settings=settings)
    assert error is None
    assert rehearsal.lost_names == ["d"]
    assert "its signature does not hold" in rehearsal.reasons
    assert [record.party_count for record in rehearsal.records] == [5, 4]


@pytest.mark.parametrize("salt", [bytes(32), b"", bytes(31), draw_salt()], ids=["zeros", "none", "short", "another"])
def test_another_salt_than_the_signed_one_is_left_out(salt, play, masked_settings) -> None:
    def changed(to, step, message):
        return replace(message, salt=salt) if isinstance(message, StatementMessage) else None

    left_out(play(changed, role="d", settings=masked_settings(5, "shared")), "salt")


def test_two_parties_that_send_the_same_upload_do_not_stop_the_others(
    rehearse_masked, meddle, expect_step, roles_apart
) -> None:
    """d sends c's bytes, which c told it, under a good signature of its own: members would refuse the set for it."""
    c_is_done = threading.Event()
    told: dict[type, Any] = {}

    def telling(to, step, message):
        told[type(message)] = message
        if isinstance(message, StatementMessage):
            c_is_done.set()
        return [(step, message)]

    def copying(channel):
        digests: list[bytes] = []

        def outgoing(to, step, message):
            if isinstance(message, DealtMessage):
                digests.extend(message.share_digests)
            elif isinstance(message, MaskedBlockMessage):
                assert c_is_done.wait(timeout=30)
                message = told[MaskedBlockMessage]
            elif isinstance(message, StatementMessage):
                copied = told[StatementMessage].upload_digest
                context = UploadContext(channel.session_id, 0, "round-1", "A16-16")
                message = StatementMessage(
                    copied, b"", channel.sign(UPLOAD_PURPOSE, *upload_fields(context, copied, digests))
                )
            return [(step, message)]

        return meddle(outgoing)(channel)

    rehearsal = rehearse_masked(meddlers={"c": meddle(telling), "d": copying})
    expect_step(rehearsal.run(), REST)
    assert rehearsal.lost_names == ["d"]
    assert "it repeats another party's upload" in rehearsal.reasons


# --- opening ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("liars", ["d", "de"])
def test_parties_that_say_falsely_that_nothing_opens_are_given_up_and_cost_the_others_nothing(
    liars, rehearse_masked, meddle, expect_step
) -> None:
    """All were sent the same releases, which open at most of them."""

    def outgoing(to, step, message):
        if isinstance(message, OpenedMessage):
            message = OpenedMessage(False, ["a", "b", "nobody \x1b[2J"])
        return [(step, message)]

    rehearsal = rehearse_masked(meddlers=dict.fromkeys(liars, meddle(outgoing)))
    expect_step(rehearsal.run(), "abcde")
    assert rehearsal.lost_names == list(liars)
    assert "that open at most parties do not open there" in rehearsal.reasons
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {1}


def test_where_as_many_say_that_nothing_opens_the_run_ends_and_nothing_is_masked_anew(
    rehearse_masked, masked_settings, meddle
) -> None:
    def outgoing(to, step, message):
        return [(step, OpenedMessage(False, []) if isinstance(message, OpenedMessage) else message)]

    rehearsal = rehearse_masked(masked_settings(4), meddlers=dict.fromkeys("cd", meddle(outgoing)))
    with pytest.raises(PartyStoppedError, match=r"opens at some parties only.*none that did at c, d"):
        rehearsal.run()
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {1}


@pytest.mark.parametrize("to", ["abcde", "b"])
def test_two_dealers_of_wrong_shares_are_believed_less_the_more_members_report_them(
    to, rehearse_masked, meddle, expect_step
) -> None:
    """All members refuse both: too few parties are left. One member alone refuses both: it is that member."""

    def outgoing(receiver, step, message):
        return [] if isinstance(message, ShareKeysMessage) and receiver in to else [(step, message)]

    rehearsal = rehearse_masked(meddlers={party: meddle(outgoing) for party in "de"})
    if to == "b":
        expect_step(rehearsal.run(), "acde")
        assert rehearsal.lost_names == ["b"]
        assert "it refuses too many shares" in rehearsal.reasons
        return
    with pytest.raises(PartyStoppedError, match="too few parties are left for round-1") as caught:
        rehearsal.run()
    assert set(rehearsal.lost_names) == {"d", "e"}, "not the members that report both"
    assert "d (its shares" in str(caught.value)
    assert "e (its shares" in str(caught.value)


def test_a_party_that_tells_no_range_is_given_up_and_not_those_that_wait_for_bounds(play, masked_settings) -> None:
    def changed(to, step, message):
        return [] if isinstance(message, RangeMessage) else None

    settings = masked_settings(5, codec=CodecSettings(clipping="daciq"))
    left_out(play(changed, role="d", settings=settings), "round-1/range")


def test_a_message_of_another_kind_costs_its_sender_only(play) -> None:
    def changed(to, step, message):
        return ReleasedMessage(bytes(32), b"", bytes(64)) if isinstance(message, StatementMessage) else None

    left_out(play(changed, role="d"), "upload-0/statement")
