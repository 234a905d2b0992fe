"""A run bears the dropout of a party: what the caller and the others are told, and when."""

from __future__ import annotations

import contextlib
import threading
import weakref

import pytest
from tests.channel.waiting_hub import LIMIT_S, error_of_waiting, fails, hub_of, returns

from hekat.channel import Channel, run_parties
from hekat.errors import (
    ChannelError,
    InputError,
    PartyLostError,
    PartyStoppedError,
)

# --- what the caller is told -------------------------------------------------------------------------------


def test_the_run_goes_on_and_the_caller_is_told_the_whole_reason_once() -> None:
    seen: list[PartyLostError] = []
    threads: list[str] = []

    def on_lost(error: PartyLostError) -> None:
        seen.append(error)
        threads.append(threading.current_thread().name)

    results = run_parties({"a": returns, "b": fails, "c": returns}, may_be_lost=["b", "c"], on_lost=on_lost)
    assert results == {"a": "a", "c": "c"}
    (error,) = seen
    assert (error.party, error.step) == ("b", "start (no message yet)")
    assert error.reason == "label missing in row 17; cure: look at row 17"
    assert str(error) == f"party 'b' was lost in step 'start (no message yet)': {error.reason}"
    assert isinstance(error.__cause__, InputError)
    assert threads == [threading.main_thread().name]


def test_of_another_exception_only_the_kind_is_told() -> None:
    seen: list[PartyLostError] = []

    def breaks(channel: Channel) -> None:
        channel.send("a", "round 2", b"")
        raise ValueError("4711 is a secret")

    def reads(channel: Channel) -> None:
        channel.receive("b", "round 2")

    run_parties({"a": reads, "b": breaks}, may_be_lost="b", on_lost=seen.append)
    assert [(error.party, error.step, error.reason) for error in seen] == [("b", "round 2", "ValueError")]
    assert "4711" not in str(seen[0])


def test_without_a_listener_the_run_goes_on_too() -> None:
    assert run_parties({"a": returns, "b": fails}, may_be_lost={"b"}) == {"a": "a"}


def test_dropouts_are_told_in_their_order_while_the_run_goes_on() -> None:
    told = {name: threading.Event() for name in "bc"}

    def waits_until_told(channel: Channel) -> str:
        assert told["b"].wait(LIMIT_S)
        channel.send("c", "fail too", b"")
        assert told["c"].wait(LIMIT_S)
        return "done"

    def fails_when_asked(channel: Channel) -> str:
        channel.receive("a", "fail too")
        raise ValueError

    roles = {"a": waits_until_told, "b": fails, "c": fails_when_asked}
    assert run_parties(roles, may_be_lost="bc", on_lost=lambda error: told[error.party].set()) == {"a": "done"}


def test_what_the_listener_raises_ends_the_run() -> None:
    seen: list[PartyStoppedError] = []
    told = threading.Event()

    def waits(channel: Channel) -> None:
        try:
            channel.receive("c", "never sent")
        except PartyStoppedError as error:
            seen.append(error)
            raise
        finally:
            told.set()

    def computes(channel: Channel) -> None:
        told.wait()

    def refuses(error: PartyLostError) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        run_parties({"a": waits, "b": fails, "c": computes}, may_be_lost="b", on_lost=refuses)
    assert "'the caller' stopped" in str(seen[0])


def test_what_a_lost_role_held_is_freed_at_once() -> None:
    held: list[weakref.ref[threading.Event]] = []
    freed: list[bool] = []

    def holds(channel: Channel) -> None:
        def compute() -> None:
            large = threading.Event()
            held.append(weakref.ref(large))
            raise ValueError

        try:
            compute()
        except ValueError:
            raise InputError("converted") from None

    run_parties(
        {"a": returns, "b": holds},
        may_be_lost="b",
        on_lost=lambda error: freed.append(held[0]() is None),
    )
    assert freed == [True]


# --- what the others are told ------------------------------------------------------------------------------


def test_the_others_learn_party_step_and_kind_and_no_more() -> None:
    hub = hub_of("ab", "b")
    hub.channel("b").send("a", "round 2", b"")
    hub.fail("b", InputError("label missing in row 17"))
    with pytest.raises(
        PartyLostError, match=r"'b' was lost in step 'round 2' \(InputError\).*'sum', which 'a' awaits"
    ) as e:
        hub.channel("a").receive("b", "sum")
    assert (e.value.party, e.value.step, e.value.reason) == ("b", "round 2", "InputError")
    assert "unread from 'b': 'round 2'" in str(e.value)
    assert "row 17" not in str(e.value)
    assert hub.lost == ("b",)


def test_what_a_lost_party_sent_stays_readable_in_its_order() -> None:
    hub = hub_of("ab", "b")
    for payload in (b"1", b"2", b"3"):
        hub.channel("b").send("a", "step", payload)
    hub.channel("b").send("a", "other", b"4")
    hub.fail("b", ValueError())
    a = hub.channel("a")
    assert [a.receive("b", "other")] + [a.receive("b", "step") for _ in range(3)] == [b"4", b"1", b"2", b"3"]
    with pytest.raises(PartyLostError, match="sends no step 'step'"):
        a.receive("b", "step")


@pytest.mark.parametrize("expelled", [False, True])
def test_a_receiver_that_waits_already_is_told_at_once(expelled: bool) -> None:
    hub = hub_of("abc", "b")

    def lose() -> None:
        if expelled:
            hub.channel("c").expel("b", "too late")
        else:
            hub.fail("b", ValueError())

    error = error_of_waiting(hub, lambda: hub.channel("a").receive("b", "step"), lose)
    assert isinstance(error, PartyLostError)
    assert error.reason == ("'c' gave up on it: too late" if expelled else "ValueError")


def test_a_sender_that_waits_for_room_is_told_at_once() -> None:
    hub = hub_of("ab", "b", max_waiting_bytes=1)
    a = hub.channel("a")
    a.send("b", "first", b"1")
    error = error_of_waiting(hub, lambda: a.send("b", "second", b"2"), lambda: hub.fail("b", ValueError()))
    assert isinstance(error, PartyLostError)
    assert "will never read step 'second', which 'a' sends" in str(error)


def test_a_receiver_that_waits_already_is_told_once_its_sender_cannot_get_past() -> None:
    hub = hub_of("ab", "", max_waiting_bytes=1)

    def send_past() -> None:
        with contextlib.suppress(PartyStoppedError):
            hub.channel("a").send("b", "two", b"2")

    sender = threading.Thread(target=send_past, daemon=True)

    def fill() -> None:
        waits_again = hub._woken["b"].begun
        waits_again.clear()
        hub.channel("a").send("b", "one", b"1")
        # Only the sender's own wait can wake it from here on.
        assert waits_again.wait(LIMIT_S)
        sender.start()

    error = error_of_waiting(hub, lambda: hub.channel("b").receive("a", "two"), fill)
    assert "step 'two' of 'a', which can never come" in str(error)
    hub.stop("b", error)
    sender.join(LIMIT_S)
    assert not sender.is_alive()


def test_a_lost_party_is_sent_nothing_more() -> None:
    hub = hub_of("ab", "b")
    hub.fail("b", ValueError())
    for _ in range(2):
        with pytest.raises(PartyLostError, match=r"'b' was lost.*'late', which 'a' sends"):
            hub.channel("a").send("b", "late", b"")


def test_messages_to_and_from_lost_parties_may_stay_unread() -> None:
    hub = hub_of("abc", "b")
    hub.channel("a").send("b", "for b", b"")
    hub.channel("b").send("a", "from b", b"")
    hub.fail("b", ValueError())
    hub.raise_first_failure()
    hub.channel("a").send("c", "for c", b"")
    with pytest.raises(ChannelError, match=r"'c' finished without reading what 'a' sent it.*got 1 unread.*'for c'"):
        hub.raise_first_failure()


def test_what_waits_for_a_lost_party_is_dropped() -> None:
    hub = hub_of("ab", "b")
    hub.channel("a").send("b", "large", bytes(100))
    hub.fail("b", ValueError())
    assert not hub._waiting


def test_a_party_that_cannot_bear_the_loss_ends_the_run_and_names_both() -> None:
    def needs_b(channel: Channel) -> None:
        channel.receive("b", "update")

    with pytest.raises(
        PartyStoppedError, match=r"'a' stopped in step 'update': party 'b' was lost in.*InputError"
    ) as e:
        run_parties({"a": needs_b, "b": fails}, may_be_lost="b")
    assert isinstance(e.value.__cause__, PartyLostError)


def test_a_losable_party_that_cannot_bear_the_loss_is_lost_too() -> None:
    def needs_b(channel: Channel) -> None:
        channel.receive("b", "update")

    seen: list[PartyLostError] = []
    roles = {"a": returns, "b": fails, "c": needs_b}
    assert run_parties(roles, may_be_lost="bc", on_lost=seen.append) == {"a": "a"}
    assert [error.party for error in seen] == ["b", "c"]
    assert seen[1].reason.startswith("party 'b' was lost in step 'start (no message yet)' (InputError)")
