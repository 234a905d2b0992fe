"""What a party signs within its session: for one purpose, by one party, and for nothing else ever."""

from __future__ import annotations

import pytest

from hekat.channel import PartyKey, sealed_message, session
from hekat.channel.statements import PROTOCOL_PURPOSE
from hekat.errors import InputError, SealError
from hekat.ledger import ledger

PURPOSE = "upload"
FIELDS = (b"round 1", b"digest")


def test_every_party_verifies_what_one_signed_itself_too(trio) -> None:
    signature = trio.sealed["a"].sign(PURPOSE, *FIELDS)
    assert all(trio.sealed[name].verify("a", signature, PURPOSE, *FIELDS) for name in "abc")


def test_a_party_need_not_pin_its_own_key_to_verify_what_it_signed(trio) -> None:
    a = trio.sealed["a"]
    a._pinned.pop("a")
    assert a.verify("a", a.sign(PURPOSE, *FIELDS), PURPOSE, *FIELDS)


@pytest.mark.parametrize(
    ("party", "purpose", "fields"),
    [
        ("b", PURPOSE, FIELDS),
        ("a", "upload ", FIELDS),
        ("a", "included", FIELDS),
        ("a", PURPOSE, (b"round 1", b"digesu")),
        ("a", PURPOSE, (b"round 1digest",)),
        ("a", PURPOSE, (b"round 1d", b"igest")),
        ("a", PURPOSE, (*FIELDS, b"")),
        ("a", PURPOSE, FIELDS[:1]),
        ("a", PURPOSE, ()),
    ],
)
def test_another_signer_purpose_or_content_does_not_hold(trio, party: str, purpose: str, fields) -> None:
    signature = trio.sealed["a"].sign(PURPOSE, *FIELDS)
    for name in "abc":
        assert not trio.sealed[name].verify(party, signature, purpose, *fields)


def test_another_session_of_the_same_parties_does_not_hold(make_trio) -> None:
    first, second = make_trio(), make_trio()
    signature = first.sealed["a"].sign(PURPOSE, *FIELDS)
    assert first.sealed["b"].verify("a", signature, PURPOSE, *FIELDS)
    assert not second.sealed["b"].verify("a", signature, PURPOSE, *FIELDS)


def test_the_session_is_no_field_that_a_caller_could_give(trio) -> None:
    """Bare signatures of the party key are none of a session, whatever their fields."""
    a = trio.sealed["a"]
    bare = trio.keys["a"].sign(PROTOCOL_PURPOSE + PURPOSE, *FIELDS)
    assert not a.verify("a", bare, PURPOSE, *FIELDS)


OWN_PURPOSES = [
    value
    for module in (session, sealed_message, ledger)
    for name, value in vars(module).items()
    if name.endswith("_PURPOSE")
]


def test_the_purposes_that_the_channel_and_the_ledger_sign_for_are_known() -> None:
    assert len(OWN_PURPOSES) == 5
    assert all(isinstance(purpose, str) for purpose in OWN_PURPOSES)


@pytest.mark.parametrize("own", OWN_PURPOSES)
def test_no_protocol_signs_what_the_channel_or_the_ledger_signs(trio, own: str) -> None:
    a, public = trio.sealed["a"], trio.keys["a"].public
    signature = a.sign(own, *FIELDS)
    for fields in (FIELDS, (a.session_id, *FIELDS)):
        assert not public.verify(signature, own, *fields)
    theirs = trio.keys["a"].sign(own, a.session_id, *FIELDS)
    assert not a.verify("a", theirs, own, *FIELDS)
    assert not own.startswith(PROTOCOL_PURPOSE)


@pytest.mark.parametrize("signature", [b"", bytes(63), bytes(64), bytes(65)])
def test_what_is_no_signature_does_not_hold(trio, signature: bytes) -> None:
    assert not trio.sealed["b"].verify("a", signature, PURPOSE, *FIELDS)


def test_a_signature_outlives_the_loss_of_its_signer(make_trio) -> None:
    trio = make_trio(may_be_lost=frozenset("a"))
    signature = trio.sealed["a"].sign(PURPOSE, *FIELDS)
    trio.sealed["c"].expel("a", "too late")
    assert trio.sealed["b"].verify("a", signature, PURPOSE, *FIELDS)


def test_malformed_calls_are_refused(trio) -> None:
    a = trio.sealed["a"]
    signature = a.sign(PURPOSE, *FIELDS)
    for purpose in ("", "two\nlines", "x" * 257):
        with pytest.raises(InputError, match="purpose name"):
            a.sign(purpose)
        with pytest.raises(InputError, match="purpose name"):
            a.verify("b", signature, purpose)
    with pytest.raises(InputError, match="expected bytes; got bytearray"):
        a.sign(PURPOSE, bytearray(3))
    with pytest.raises(InputError, match="expected bytes; got str"):
        a.verify("b", signature, PURPOSE, "text")
    with pytest.raises(InputError, match="expected bytes; got NoneType"):
        a.verify("b", None, PURPOSE)
    with pytest.raises(InputError, match="one of: b, c; got 'nobody'"):
        a.verify("nobody", signature, PURPOSE)


def test_without_a_session_nothing_is_signed_or_verified(trio) -> None:
    a = trio.sealed["a"]
    signature = a.sign(PURPOSE, *FIELDS)
    a.close()
    with pytest.raises(SealError, match="no session is open"):
        a.sign(PURPOSE, *FIELDS)
    with pytest.raises(SealError, match="no session is open"):
        a.verify("a", signature, PURPOSE, *FIELDS)


def test_the_first_party_that_did_not_sign_is_named_at_every_role(trio) -> None:
    said = {name: trio.sealed[name].sign("total", b"7", name.encode()) for name in "abc"}
    statements = tuple((name, said[name], (b"7", name.encode())) for name in "abc")
    altered = (*statements[:1], ("b", said["b"], (b"8", b"b")), ("c", said["b"], (b"7", b"c")))
    for channel in trio.sealed.values():
        assert channel.find_unsigned("total", statements) is None
        assert channel.find_unsigned("sums", statements) == "a"
        assert channel.find_unsigned("total", altered) == "b"
        with pytest.raises(InputError, match="no such peer"):
            channel.find_unsigned("total", (("d", said["a"], (b"7", b"a")),))


def test_what_one_role_found_signed_holds_for_no_role_that_pins_another_key(trio) -> None:
    statements = tuple((name, trio.sealed[name].sign("total", b"7"), (b"7",)) for name in "abc")
    assert trio.sealed["a"].find_unsigned("total", statements) is None
    trio.sealed["b"]._pinned["c"] = PartyKey.generate().public
    assert trio.sealed["b"].find_unsigned("total", statements) == "c"
    assert trio.sealed["a"].find_unsigned("total", statements) is None


def test_what_was_found_signed_in_one_session_holds_in_no_other(make_trio) -> None:
    first, second = make_trio(), make_trio()
    statements = (("a", first.sealed["a"].sign("total", b"7"), (b"7",)),)
    assert first.sealed["b"].find_unsigned("total", statements) is None
    assert second.sealed["b"].find_unsigned("total", statements) == "a"
