"""Giving up on a party: what it is told, what the others keep of it, and what is refused."""

from __future__ import annotations

import threading

import pytest
from tests.channel.waiting_hub import LIMIT_S, error_of_waiting, hub_of

from hekat.channel import Channel, run_parties
from hekat.errors import (
    ChannelTimeoutError,
    InputError,
    PartyLostError,
    PartyStoppedError,
)


def test_an_expelled_party_is_told_who_gave_up_on_it_and_why_in_every_call() -> None:
    hub = hub_of("abc", "bc")
    b = hub.channel("b")
    b.send("c", "round 4", b"")
    b.note_saved("checkpoint of round 3")
    hub.channel("a").expel("b", "a share that does not fit")
    for call in (
        lambda: b.receive("a", "sum"),
        lambda: b.send("c", "share", b""),
        lambda: b.expel("c", "revenge"),
    ):
        with pytest.raises(PartyStoppedError) as caught:
            call()
        assert str(caught.value) == (
            "'a' gave up on party 'b' in step 'round 4': a share that does not fit; saved: checkpoint of round 3; "
            "cure: resume from the checkpoint in a new session"
        )
        assert (caught.value.party, caught.value.step) == ("a", "round 4")
    assert hub.lost == ("b",)


def test_an_expelled_party_is_told_in_the_call_it_waits_in() -> None:
    hub = hub_of("ab", "b")
    error = error_of_waiting(
        hub, lambda: hub.channel("b").receive("a", "sum"), lambda: hub.channel("a").expel("b", "too late")
    )
    assert isinstance(error, PartyStoppedError)
    assert "'a' gave up on party 'b' in step 'sum': too late" in str(error)


def test_the_others_learn_who_gave_up_on_it_and_keep_what_it_sent() -> None:
    hub = hub_of("abc", "b")
    for name in "ac":
        hub.channel("b").send(name, "update", b"1")
    hub.channel("a").expel("b", "too late")
    assert hub.channel("c").receive("b", "update") == b"1"
    with pytest.raises(PartyLostError, match=r"'b' was lost in step 'update' \('a' gave up on it: too late\)"):
        hub.channel("c").receive("b", "update")
    # Its message came before, but this end has given up on it.
    with pytest.raises(PartyLostError, match=r"sends no step 'update', which 'a' awaits$"):
        hub.channel("a").receive("b", "update")


def test_giving_up_on_a_lost_party_drops_what_it_sent_here_and_nothing_else() -> None:
    hub = hub_of("abc", "b")
    for name in "ac":
        hub.channel("b").send(name, "update", b"1")
    hub.fail("b", ValueError())
    hub.channel("a").expel("b", "too late")
    with pytest.raises(PartyLostError, match="ValueError"):
        hub.channel("a").receive("b", "update")
    assert hub.channel("c").receive("b", "update") == b"1"
    assert hub.lost == ("b",)


def test_expelled_parties_have_no_result_and_are_told_to_the_caller_once() -> None:
    seen: list[PartyLostError] = []

    def expels(channel: Channel) -> str:
        channel.receive("c", "done")
        for peer in "bc":
            channel.expel(peer, "because")
        channel.send("d", "go on", b"")
        return "a"

    def shrugs(channel: Channel) -> str:
        with pytest.raises(PartyStoppedError, match="'a' gave up on party 'b' in step 'sum': because"):
            channel.receive("a", "sum")
        return "returned anyway"

    def returns_before(channel: Channel) -> str:
        channel.send("a", "done", b"")
        return "returned before"

    def goes_on(channel: Channel) -> str:
        channel.receive("a", "go on")
        return "d"

    roles = {"a": expels, "b": shrugs, "c": returns_before, "d": goes_on}
    assert run_parties(roles, may_be_lost="bcd", on_lost=seen.append) == {"a": "a", "d": "d"}
    assert [(error.party, error.reason) for error in seen] == [
        ("b", "'a' gave up on it: because"),
        ("c", "'a' gave up on it: because"),
    ]


def test_what_an_expelled_party_raises_is_neither_a_second_loss_nor_the_runs_failure() -> None:
    seen: list[PartyLostError] = []

    def expels(channel: Channel) -> str:
        channel.expel("b", "because")
        return "a"

    def raises(channel: Channel) -> None:
        channel.receive("a", "sum")

    assert run_parties({"a": expels, "b": raises}, may_be_lost="b", on_lost=seen.append) == {"a": "a"}
    assert len(seen) == 1


def test_the_reason_stays_that_of_who_gave_up_on_it() -> None:
    hub = hub_of("abc", "b")
    hub.channel("a").expel("b", "because")
    hub.fail("b", ValueError())
    with pytest.raises(PartyLostError, match=r"\('a' gave up on it: because\)"):
        hub.channel("c").receive("b", "step")


def test_who_waits_for_a_lost_party_and_is_not_awake_yet_makes_no_standstill() -> None:
    hub = hub_of("abc", "c")
    asleep = hub._new_wait("a", "c", "step", receives=True, room_bytes=0, timeout_s=1)
    hub._waits["a"] = asleep
    hub.channel("b").expel("c", "because")
    error = error_of_waiting(hub, lambda: hub.channel("b").receive("a", "step"), lambda: hub.stop("a", ValueError()))
    assert asleep.stalemate == ""
    assert "'a' stopped" in str(error)


def test_a_standstill_is_found_without_an_expelled_party_that_computes_on() -> None:
    over = threading.Event()
    errors: list[str] = []

    def expels_then_waits(channel: Channel) -> None:
        channel.expel("c", "because")
        try:
            channel.receive("b", "never sent", timeout_s=LIMIT_S)
        except ChannelTimeoutError as error:
            errors.append(str(error))
        finally:
            over.set()

    def waits(channel: Channel) -> None:
        with pytest.raises(PartyStoppedError, match="'a' has finished without sending"):
            channel.receive("a", "never sent", timeout_s=2 * LIMIT_S)

    def computes(channel: Channel) -> None:
        over.wait()
        channel.send("a", "too late", b"")

    roles = {"a": expels_then_waits, "b": waits, "c": computes}
    assert set(run_parties(roles, may_be_lost="c")) == {"a", "b"}
    assert "every party waits: 'a' for 'b' in 'never sent', 'b' for 'a' in 'never sent'" in errors[0]


def test_only_a_losable_other_party_is_given_up_on_and_for_a_reason() -> None:
    hub = hub_of("abc", "ab")
    a = hub.channel("a")
    with pytest.raises(
        InputError, match=r"'a' cannot give up on party 'c', which may not be lost.*one of: a, b; got 'c'"
    ):
        a.expel("c", "because")
    for peer in ("a", "nobody"):
        with pytest.raises(InputError, match="one of: b, c"):
            a.expel(peer, "because")
    for reason in ("", b"bytes", None):
        with pytest.raises(InputError, match="no reason"):
            a.expel("b", reason)  # type: ignore[arg-type]
    assert hub.lost == ()


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("two\nlines, \x1b[2J and \ud800", "two?lines, ?[2J and ?"),
        ("é" * 1024, "é" * 1024),
        ("é" * 1025, "é" * 1021 + "..."),
    ],
)
def test_a_reason_is_told_in_print_and_in_short(reason: str, told: str) -> None:
    """It may quote what that party sent, which must not keep it in the run."""
    hub = hub_of("abc", "b")
    hub.channel("a").expel("b", reason)
    with pytest.raises(PartyLostError) as lost:
        hub.channel("c").receive("b", "step")
    assert lost.value.reason == f"'a' gave up on it: {told}"
    with pytest.raises(PartyStoppedError) as stopped:
        hub.channel("b").receive("a", "step")
    assert f": {told}; cure" in str(stopped.value)


def test_where_nobody_may_be_lost_nobody_is_given_up_on() -> None:
    with pytest.raises(InputError, match="expected one of: nobody"):
        hub_of("ab", "").channel("a").expel("b", "because")


def test_a_stopped_run_is_told_to_who_gives_up_on_a_party() -> None:
    hub = hub_of("abc", "b")
    hub.fail("c", ValueError())
    with pytest.raises(PartyStoppedError, match="'c' stopped"):
        hub.channel("a").expel("b", "because")
    assert hub.lost == ()
