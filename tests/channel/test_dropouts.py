"""A run bears the loss of a party: what the others, the caller and the lost party itself are told, and when."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import weakref
from collections.abc import Callable

import pytest

from hekat.channel import Channel, InProcessHub, run_parties
from hekat.errors import (
    AlteredSumError,
    ChannelError,
    ChannelTimeoutError,
    HekatError,
    InputError,
    PartyLostError,
    PartyStoppedError,
)

# Far more than a test takes: a rule that is broken fails by its error, not by a hang.
PATIENCE_S = 20.0


def hub_of(names: str, may_be_lost: str, **settings) -> InProcessHub:
    return InProcessHub(tuple(names), PATIENCE_S, may_be_lost=frozenset(may_be_lost), **settings)


class TellingCondition(threading.Condition):
    """`begun` is set by whoever waits; it has let go of the lock by the time another one gets it."""

    def __init__(self, lock: threading.RLock, begun: threading.Event) -> None:
        super().__init__(lock)
        self.begun = begun

    def wait(self, timeout: float | None = None) -> bool:
        self.begun.set()
        return super().wait(timeout)


def telling_of_waits(hub: InProcessHub) -> threading.Event:
    """An event that is set once a party of the hub waits."""
    begun = threading.Event()
    hub._woken = {name: TellingCondition(hub._lock, begun) for name in hub.parties}
    return begun


def error_of_waiting(hub: InProcessHub, call: Callable[[], object], then: Callable[[], None]) -> HekatError:
    """What `call` raises in its wait, which has no time-out, once `then` has happened."""
    hub._timeout_s = math.inf
    begun = telling_of_waits(hub)
    found: list[HekatError] = []

    def wait() -> None:
        try:
            call()
        except HekatError as error:
            found.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    assert begun.wait(PATIENCE_S)
    then()
    thread.join(PATIENCE_S)
    assert found, "it still waits"
    return found[0]


def returns(channel: Channel) -> str:
    return channel.party


def fails(channel: Channel) -> str:
    raise InputError("label missing in row 17", cure="look at row 17")


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


def test_losses_are_told_in_their_order_while_the_run_goes_on() -> None:
    told = {name: threading.Event() for name in "bc"}

    def waits_until_told(channel: Channel) -> str:
        assert told["b"].wait(PATIENCE_S)
        channel.send("c", "fail too", b"")
        assert told["c"].wait(PATIENCE_S)
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
        assert waits_again.wait(PATIENCE_S)
        sender.start()

    error = error_of_waiting(hub, lambda: hub.channel("b").receive("a", "two"), fill)
    assert "step 'two' of 'a', which can never come" in str(error)
    hub.stop("b", error)
    sender.join(PATIENCE_S)
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


# --- what still ends the run -------------------------------------------------------------------------------


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
            assert failed.wait(PATIENCE_S)
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


# --- giving up on a party ----------------------------------------------------------------------------------


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
            channel.receive("b", "never sent", timeout_s=PATIENCE_S)
        except ChannelTimeoutError as error:
            errors.append(str(error))
        finally:
            over.set()

    def waits(channel: Channel) -> None:
        with pytest.raises(PartyStoppedError, match="'a' has finished without sending"):
            channel.receive("a", "never sent", timeout_s=2 * PATIENCE_S)

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
