"""Ledgers of a run that somebody left: what was on its way is told apart, and hides nothing else."""

from __future__ import annotations

import pytest

from hekat.channel import PartyKey
from hekat.errors import PartyLostError
from hekat.ledger import AuditReport, Ledger, audit_bytes, reconcile
from hekat.ledger.recorded_channel import NOT_HANDED_OVER

SESSION = bytes(32)
Line = tuple[str, str, str]


def ledger_of(party: str, *lines: Line, reason: str = "finished") -> AuditReport:
    """Lines are (direction, peer, step), or ("note", text, step); a message's payload is its step."""
    key = PartyKey.generate()
    ledger = Ledger(None, party, key, SESSION)
    for direction, other, step in lines:
        if direction == "note":
            ledger.note(step, other, "public")
        else:
            ledger.record(direction, other, step, "kind", [], step.encode())
    ledger.close(reason)
    return audit_bytes(ledger.data, key.public)


def sent_to(peer: str, *steps: str) -> list[Line]:
    return [("sent", peer, step) for step in steps]


def received_from(peer: str, *steps: str) -> list[Line]:
    return [("received", peer, step) for step in steps]


STOPPED = "stopped: ChannelError"


def test_what_its_sender_could_not_hand_over_was_not_sent() -> None:
    failed = ("note", f"the kind to 'b' {NOT_HANDED_OVER} ({PartyLostError.__name__})", "3")
    a = ledger_of("a", *sent_to("b", "1", "2", "3"), failed)
    result = reconcile(a, ledger_of("b", *received_from("a", "1", "2"), reason=STOPPED))
    assert (result.agreed_count, result.disagreements, result.on_their_way) == (2, (), ())


@pytest.mark.parametrize(
    "note",
    [
        ("note", f"the kind to 'c' {NOT_HANDED_OVER} (PartyLostError)", "3"),
        ("note", f"the kind to 'b' {NOT_HANDED_OVER} (PartyLostError)", "2"),
        ("note", "the kind to 'b' was handed over", "3"),
    ],
)
def test_a_note_of_something_else_excuses_nothing(note) -> None:
    a = ledger_of("a", *sent_to("b", "1", "2", "3"), note)
    result = reconcile(a, ledger_of("b", *received_from("a", "1", "2")))
    assert result.disagreements == ("a to b, step '3': sent (line 4) and never received",)


def test_a_message_noted_as_not_handed_over_that_came_after_all() -> None:
    failed = ("note", f"the kind to 'b' {NOT_HANDED_OVER} (PartyLostError)", "2")
    a = ledger_of("a", *sent_to("b", "1", "2"), failed)
    result = reconcile(a, ledger_of("b", *received_from("a", "1", "2")))
    assert result.disagreements == ("a to b, step '2': received (line 3) and never sent",)


@pytest.mark.parametrize(("reason_a", "reason_b"), [(STOPPED, "finished"), ("finished", STOPPED), (STOPPED, STOPPED)])
def test_the_last_messages_may_be_on_their_way_when_one_stops(reason_a, reason_b) -> None:
    a = ledger_of("a", *sent_to("b", "1", "2", "3"), reason=reason_a)
    b = ledger_of("b", *received_from("a", "1"), *sent_to("a", "4"), reason=reason_b)
    result = reconcile(a, b)
    assert result.agrees
    assert result.on_their_way == (
        "a to b, step '2': sent (line 3)",
        "a to b, step '3': sent (line 4)",
        "b to a, step '4': sent (line 3)",
    )
    assert "on its way when one of them stopped: a to b, step '3': sent (line 4)" in result.to_text()


def test_a_message_before_one_that_came_was_not_on_its_way() -> None:
    a = ledger_of("a", *sent_to("b", "1", "2", "3"))
    result = reconcile(a, ledger_of("b", *received_from("a", "1", "3"), reason=STOPPED))
    assert result.disagreements == ("a to b, step '2': sent (line 3) and never received",)
    assert result.on_their_way == ()


def test_a_message_that_came_and_was_never_sent_is_never_excused() -> None:
    a = ledger_of("a", *sent_to("b", "1"), reason=STOPPED)
    result = reconcile(a, ledger_of("b", *received_from("a", "1", "2"), reason=STOPPED))
    assert result.disagreements == ("a to b, step '2': received (line 3) and never sent",)


def test_ledgers_that_finished_or_are_not_signed_excuse_nothing() -> None:
    a = ledger_of("a", *sent_to("b", "1", "2"))
    finished = reconcile(a, ledger_of("b", *received_from("a", "1")))
    assert len(finished.disagreements) == 1
    key = PartyKey.generate()
    killed = Ledger(None, "b", key, SESSION)
    killed.record("received", "a", "1", "kind", [], b"1")
    result = reconcile(a, audit_bytes(killed.data, key.public))
    assert (len(result.disagreements), result.unsigned) == (1, ("b",))
