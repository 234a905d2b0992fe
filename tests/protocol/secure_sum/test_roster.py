"""The aggregator's roster: who still takes part, and what costs a party its place."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import pytest

from hekat.errors import (
    ChannelTimeoutError,
    HekatError,
    InputError,
    PartyLostError,
    PartyStoppedError,
    ProtocolError,
    SealError,
    StateError,
    WireError,
)
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import SumSettings

BEARING = SumSettings(("a", "b", "c", "d"), "hub", weight_max=10)
NOT_BEARING = replace(BEARING, protection="none")
LOST = PartyLostError("party 'b' was lost", party="b", step="round-1/end", reason="StateError")
COSTS = [
    ChannelTimeoutError("late"),
    SealError("altered"),
    WireError("no message"),
    InputError("no"),
    ProtocolError("no"),
]


class Line:
    """A channel on which every exchange with b raises `error`."""

    party = "hub"

    def __init__(self, error: HekatError | None) -> None:
        self._error = error
        self.sent: list[tuple[str, object]] = []
        self.expelled: list[tuple[str, str]] = []

    def encoding_once(self, message: object) -> AbstractContextManager[None]:
        return nullcontext()

    def send(self, to: str, step: str, message: object) -> bytes:
        if to == "b" and self._error is not None:
            raise self._error
        self.sent.append((to, message))
        return bytes(32)

    def receive_digested(
        self, sender: str, step: str, message_type: type, timeout_s: float | None = None
    ) -> tuple[str, bytes]:
        if sender == "b" and self._error is not None:
            raise self._error
        return f"of {sender}", bytes(32)

    def expel(self, party: str, reason: str) -> None:
        self.expelled.append((party, reason))


@pytest.mark.parametrize("error", COSTS, ids=lambda error: type(error).__name__)
def test_who_sends_nothing_good_is_given_up_and_told_why(error) -> None:
    line = Line(error)
    roster = Roster(line, BEARING)
    assert roster.receive_from_all("round-1/end", str) == {party: f"of {party}" for party in "acd"}
    assert roster.parties == ("a", "c", "d")
    assert [party for party, _ in line.expelled] == ["b"]
    assert line.expelled[0][1].startswith("in step round-1/end: ")
    assert roster.lost["b"] == line.expelled[0][1]


def test_who_takes_nothing_in_is_given_up() -> None:
    line = Line(ChannelTimeoutError("found no room at 'b'"))
    roster = Roster(line, BEARING)
    roster.send_to_all("round-1/sum-block", "block")
    assert [to for to, _ in line.sent] == ["a", "c", "d"]
    assert [party for party, _ in line.expelled] == ["b"]


def test_who_is_lost_already_is_not_given_up_once_more() -> None:
    line = Line(LOST)
    roster = Roster(line, BEARING)
    roster.send_to_all("round-1/begin", "begin")
    roster.receive_from_all("round-1/end", str)
    roster.expel("b", "again")
    assert roster.parties == ("a", "c", "d")
    assert line.expelled == []


def test_a_check_that_refuses_costs_the_sender() -> None:
    def check(party: str, message: str) -> None:
        if party == "c":
            raise InputError("not that", expected="this", got="that")

    line = Line(None)
    roster = Roster(line, BEARING)
    assert set(roster.receive_from_all("round-1/end", str, check)) == set("abd")
    assert line.expelled[0][0] == "c"


@pytest.mark.parametrize("error", [PartyStoppedError("over", party="d", step="x"), StateError("disk full")])
def test_the_end_of_the_run_and_troubles_of_its_own_are_nobodys_loss(error) -> None:
    roster = Roster(Line(error), BEARING)
    with pytest.raises(type(error)):
        roster.receive("b", "round-1/end", str)
    assert roster.lost == {}


@pytest.mark.parametrize("error", [*COSTS, LOST], ids=lambda error: type(error).__name__)
def test_where_no_loss_is_borne_the_run_ends(error) -> None:
    roster = Roster(Line(error), NOT_BEARING)
    with pytest.raises(type(error)):
        roster.receive("b", "round-1/end", str)
    with pytest.raises(ProtocolError, match="party c cannot take part"):
        roster.expel("c", "it misbehaves")


def test_too_few_are_named_with_their_reasons() -> None:
    roster = Roster(Line(SealError("altered")), BEARING)
    roster.receive("b", "round-1/end", str)
    roster.expel("c", "it misbehaves")
    roster.check_enough("round-2", 2)
    with pytest.raises(
        ProtocolError, match=r"too few parties are left for round-2.*3 of 4.*b \(.*altered.*c \(it misb"
    ):
        roster.check_enough("round-2", 3)
