"""What ends a run that bears dropouts, whose failure it is then, and who counts as lost."""

from __future__ import annotations

import signal
import threading

import pytest
from tests.channel.waiting_hub import LIMIT_S, error_of_waiting, fails, hub_of, returns

from hekat.channel import Channel, InProcessHub, run_parties
from hekat.errors import (
    AlteredSumError,
    InputError,
    PartyLostError,
    PartyStoppedError,
)


def test_a_party_that_may_not_be_lost_ends_the_run_and_nobody_is_lost_by_it() -> None:
    seen: list[PartyLostError] = []

    def waits(channel: Channel) -> None:
        channel.receive("b", "never sent")

    with pytest.raises(PartyStoppedError, match=r"'b' stopped.*label missing") as caught:
        run_parties({"a": waits, "b": fails, "c": waits}, may_be_lost="ac", on_lost=seen.append)
    assert caught.value.party == "b"
    assert seen == []


@pytest.mark.parametrize("first", ["b", "c"])
def test_who_is_lost_does_not_depend_on_which_of_two_that_fail_is_faster(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both `b`, which ends the run, and `c` refuse what `a` sent them, in either order; `d` is but told of the end."""
    failed = threading.Event()
    seen: list[PartyLostError] = []

    def sends(channel: Channel) -> None:
        channel.send("b", "sum", b"")
        channel.send("c", "sum", b"")
        channel.receive("b", "never sent")

    def refuses(channel: Channel) -> None:
        channel.receive("a", "sum")
        if channel.party != first:
            assert failed.wait(LIMIT_S)
        raise InputError(f"{channel.party} refuses it")

    def is_told(channel: Channel) -> None:
        channel.receive("b", "never sent")

    hub_fail = InProcessHub.fail

    def fail(self: InProcessHub, party: str, error: BaseException) -> None:
        hub_fail(self, party, error)
        if party == first:
            failed.set()

    monkeypatch.setattr(InProcessHub, "fail", fail)
    roles = {"a": sends, "b": refuses, "c": refuses, "d": is_told}
    with pytest.raises(PartyStoppedError, match=r"'b' stopped.*b refuses it"):
        run_parties(roles, may_be_lost="acd", on_lost=seen.append)
    assert [(error.party, error.reason, error.after_stop) for error in seen] == [("c", "c refuses it", first == "b")]


def test_a_loss_before_the_end_of_the_run_is_told_all_the_same() -> None:
    seen: list[PartyLostError] = []

    def needs_b(channel: Channel) -> None:
        channel.receive("b", "update")

    with pytest.raises(PartyStoppedError):
        run_parties({"a": needs_b, "b": fails}, may_be_lost="b", on_lost=seen.append)
    assert [error.party for error in seen] == ["b"]


def test_a_run_that_lost_every_party_fails_with_the_last_loss() -> None:
    def waits(channel: Channel) -> None:
        channel.receive("b", "never sent")

    seen: list[PartyLostError] = []
    with pytest.raises(PartyLostError, match=r"'a' was lost in step 'never sent': party 'b' was lost") as caught:
        run_parties({"a": waits, "b": fails}, may_be_lost="ab", on_lost=seen.append)
    assert isinstance(caught.value.__cause__, PartyLostError)
    assert [error.party for error in seen] == ["b", "a"]


def test_ctrl_c_stops_all_parties_and_loses_none() -> None:
    seen: list[PartyStoppedError] = []
    lost: list[PartyLostError] = []
    stopped = threading.Event()

    def interrupts(channel: Channel) -> None:
        channel.receive("b", "started")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        waits(channel, "b")

    def is_interrupted(channel: Channel) -> None:
        channel.send("a", "started", b"")
        waits(channel, "a")

    def waits(channel: Channel, sender: str) -> None:
        try:
            channel.receive(sender, "never sent")
        except PartyStoppedError as error:
            seen.append(error)
            raise
        finally:
            stopped.set()

    def computes(channel: Channel) -> None:
        stopped.wait()

    with pytest.raises(KeyboardInterrupt):
        run_parties({"a": interrupts, "b": is_interrupted, "c": computes}, may_be_lost="abc", on_lost=lost.append)
    assert all("'the caller' stopped" in str(error) for error in seen)
    assert len(seen) == 2
    assert lost == []


def test_who_stops_the_run_ends_it_and_is_not_lost() -> None:
    hub = hub_of("ab", "ab")
    hub.stop("b", ValueError())
    assert hub.lost == ()
    with pytest.raises(PartyStoppedError, match="'b' stopped"):
        hub.channel("a").receive("b", "step")


def test_an_error_that_ends_the_run_ends_it_for_those_that_could_go_on() -> None:
    """Raised by one that may be lost: the caller is told all of it, the others its name and the kind."""
    hub = hub_of("abc", "abc")
    told = error_of_waiting(
        hub, lambda: hub.channel("a").receive("c", "never"), lambda: hub.fail("b", AlteredSumError("of what it saw"))
    )
    assert isinstance(told, PartyStoppedError)
    assert "party 'b' stopped" in str(told)
    assert "(AlteredSumError)" in str(told)
    assert "saw" not in str(told)
    assert hub.lost == ()
    with pytest.raises(PartyStoppedError, match="of what it saw"):
        hub.raise_first_failure()


def test_a_party_that_may_be_lost_has_a_role() -> None:
    with pytest.raises(InputError, match=r"no such party.*one of: a, b; got 'd'"):
        run_parties({"a": returns, "b": returns}, may_be_lost=["a", "d"])


def test_a_party_that_speaks_for_a_lost_one_ends_the_run_in_its_name() -> None:
    hub = hub_of("abc", "abc")
    cause = InputError("label missing in row 17")
    hub.channel("b").note_saved("checkpoint of round 3")
    hub.fail("b", cause)
    hub.fail("a", PartyStoppedError("cannot go on", party="b"))
    assert hub.lost == ("b",)
    with pytest.raises(
        PartyStoppedError, match=r"'b' stopped in step 'start \(no message yet\)' \(InputError\); saved: c"
    ):
        hub.channel("c").receive("a", "step")
    with pytest.raises(
        PartyStoppedError, match=r"'b' stopped in step 'start.*row 17; saved: checkpoint of r"
    ) as caught:
        hub.raise_first_failure()
    assert caught.value.__cause__ is cause
