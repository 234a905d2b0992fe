"""Whoever carries messages cannot say in somebody's name that a party is lost: such words are signed and bound."""

from __future__ import annotations

import contextlib

import pytest

from hekat.channel.departure import Dropout
from hekat.channel.dropout_notice import DropoutNotice, sign_dropout
from hekat.errors import InputError, ModelsDifferError, PartyLostError, PartyStoppedError, SealError

REASON = "its shares were refused"


def test_the_attack_a_relay_gives_up_on_a_party_in_anothers_name(make_trio) -> None:
    """`raw` are the hub's ends, as the relay has them. Without signatures the victim and all others believed it."""
    forge = make_trio(may_be_lost=frozenset("b"))
    forge.raw["a"].expel("b", REASON)
    with pytest.raises(PartyLostError, match="'a' gave up on it"):
        forge.raw["c"].receive("b", "step")
    with pytest.raises(SealError, match="in the name of 'a'"):
        forge.sealed["c"].receive("b", "step")
    with pytest.raises(SealError, match="in the name of 'a'"):
        forge.sealed["c"].send("b", "step", b"payload")
    with pytest.raises(SealError, match="in the name of 'a'"):
        forge.sealed["b"].receive("a", "step")


@pytest.mark.parametrize(
    "forged", ["another key", "another session", "another party", "another reason", "another by", "another name"]
)
def test_a_notice_that_is_not_of_this_session_these_parties_and_this_reason_does_not_hold(make_trio, forged) -> None:
    trio = make_trio(may_be_lost=frozenset("b"))
    session = trio.sealed["a"].session_id
    words = {
        "another key": (trio.keys["c"], session, "a", "b", REASON),
        "another session": (trio.keys["a"], bytes(32), "a", "b", REASON),
        "another party": (trio.keys["a"], session, "a", "c", REASON),
        "another reason": (trio.keys["a"], session, "a", "b", "it is slow"),
        "another by": (trio.keys["c"], session, "c", "b", REASON),
        # Its signer's own key under words that are said to be another party's.
        "another name": (trio.keys["a"], session, "c", "b", REASON),
    }[forged]
    notice = sign_dropout(*words)
    if forged == "another reason":
        notice = type(notice)(notice.by, notice.party, REASON, notice.signature)
    trio.raw["a"].expel("b", REASON, notice)
    with pytest.raises(SealError, match="in the name of 'a'"):
        trio.sealed["c"].receive("b", "step")


@pytest.mark.parametrize("told", ["told_reason", "what"])
def test_another_reason_is_not_told_under_a_genuine_notice(make_trio, monkeypatch, told) -> None:
    """A relay that has the signed words of who gave up on a party tells others of it in its own."""
    original = Dropout.to_others

    def retell(self, consequence):
        error = original(self, consequence)
        setattr(error, told, "'a' gave up on it: it stole data")
        return error

    monkeypatch.setattr(Dropout, "to_others", retell)
    trio = make_trio(may_be_lost=frozenset("b"))
    trio.sealed["a"].expel("b", REASON)
    with pytest.raises(SealError, match="in the name of 'a'"):
        trio.sealed["c"].receive("b", "step")


def test_who_gives_up_on_a_party_signs_it_and_all_are_told(make_trio) -> None:
    trio = make_trio(may_be_lost=frozenset("b"))
    trio.sealed["a"].expel("b", REASON)
    with pytest.raises(PartyLostError, match=REASON) as told:
        trio.sealed["c"].receive("b", "step")
    assert told.value.expelled_by == "a"
    with pytest.raises(PartyStoppedError, match=f"'a' gave up on party 'b'.*{REASON}"):
        trio.sealed["b"].receive("a", "step")
    with pytest.raises(PartyLostError, match=REASON):
        trio.sealed["a"].send("b", "step", b"payload")


def test_a_party_that_leaves_by_an_error_signs_the_kind_of_it_and_no_more(make_trio) -> None:
    trio = make_trio(may_be_lost=frozenset("b"))
    hub = trio.raw["b"]._hub
    error = InputError("label missing in row 17")
    with contextlib.suppress(InputError), trio.sealed["b"]:
        raise error
    hub.fail("b", error)
    with pytest.raises(PartyLostError, match=r"\(InputError\)") as told:
        trio.sealed["a"].receive("b", "step")
    notice = told.value.notice
    assert (notice.by, notice.party, notice.reason) == ("b", "b", "InputError")
    assert notice.holds(trio.sealed["a"].session_id, trio.keys["b"].public)
    assert "17" not in str(told.value)


def test_a_forged_word_of_leaving_is_found(make_trio) -> None:
    trio = make_trio(may_be_lost=frozenset("b"))
    hub = trio.raw["b"]._hub
    hub.leave("b", sign_dropout(trio.keys["c"], trio.sealed["a"].session_id, "b", "b", "InputError"))
    hub.fail("b", InputError("nothing"))
    with pytest.raises(SealError, match="in the name of 'b'"):
        trio.sealed["a"].receive("b", "step")


def test_a_party_that_ends_the_run_signs_it_too(make_trio) -> None:
    trio = make_trio()
    hub = trio.raw["b"]._hub
    error = InputError("nothing")
    with contextlib.suppress(InputError), trio.sealed["b"]:
        raise error
    hub.fail("b", error)
    with pytest.raises(PartyStoppedError, match=r"'b' stopped") as told:
        trio.sealed["a"].receive("b", "step")
    assert told.value.notice.holds(trio.sealed["a"].session_id, trio.keys["b"].public)


def test_before_a_session_is_open_nothing_that_a_relay_tells_counts_as_signed(make_trio) -> None:
    """No signature can be bound to a session yet: a notice of any bytes would pass for a party's word."""
    trio = make_trio(open_sessions=False)
    hub = trio.raw["b"]._hub
    hub.leave("b", DropoutNotice("b", "b", "ModelsDifferError", bytes(64)))
    hub.fail("b", ModelsDifferError("made up"))
    with pytest.raises(PartyStoppedError) as told:
        trio.sealed["a"].open_session(timeout_s=20)
    assert told.value.told_reason == "ModelsDifferError"
    assert told.value.notice is None
