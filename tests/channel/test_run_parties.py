"""Runs end together: whoever raises, stops early or waits for nothing is named, and nobody hangs."""

from __future__ import annotations

import math
import signal
import sys
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue

import pytest

from hekat.channel import Channel, run_parties
from hekat.channel.in_process import InProcessHub
from hekat.errors import ChannelError, ChannelTimeoutError, InputError, PartyStoppedError


@pytest.fixture(autouse=True)
def _all_threads_are_joined():
    """Of other tests some may go on for a while."""
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    assert [thread.name for thread in left if thread.name.startswith("hekat-")] == []


def wait_for_ever_on(sender: str, seen: list[PartyStoppedError]):
    def role(channel: Channel) -> None:
        try:
            channel.receive(sender, "never sent", timeout_s=math.inf)
        except PartyStoppedError as error:
            seen.append(error)
            raise

    return role


def test_every_role_returns_its_result() -> None:
    def leader(channel: Channel) -> int:
        return sum(channel.receive(peer, "number")[0] for peer in ("b", "c"))

    def member(channel: Channel) -> str:
        channel.send("a", "number", bytes([ord(channel.party)]))
        return channel.party

    assert run_parties({"a": leader, "b": member, "c": member}) == {"a": 98 + 99, "b": "b", "c": "c"}


def test_a_party_alone_runs() -> None:
    assert run_parties({"only": lambda channel: channel.parties}) == {"only": ("only",)}


def test_no_roles_are_refused() -> None:
    with pytest.raises(InputError, match="without parties"):
        run_parties({})


def test_a_party_that_raises_before_it_sends_wakes_all_others() -> None:
    seen: list[PartyStoppedError] = []

    def fails(channel: Channel) -> None:
        raise InputError("label missing in row 17")

    with pytest.raises(PartyStoppedError, match=r"'b' stopped in step 'start.*label missing") as caught:
        run_parties({"a": wait_for_ever_on("b", seen), "b": fails, "c": wait_for_ever_on("a", seen)})
    assert isinstance(caught.value.__cause__, InputError)
    assert caught.value.party == "b"
    assert len(seen) == 2
    assert {error.party for error in seen} == {"b"}
    # What the failure says of b's own data stays with b.
    assert all("InputError" in str(error) and "row 17" not in str(error) for error in seen)


def test_a_party_that_fails_later_names_its_step_and_what_was_saved() -> None:
    seen: list[PartyStoppedError] = []

    def fails(channel: Channel) -> None:
        channel.receive("a", "round 4")
        channel.note_saved("checkpoint of round 3")
        raise ValueError("4711 is a secret")

    def waits(channel: Channel) -> None:
        channel.send("b", "round 4", b"go")
        wait_for_ever_on("b", seen)(channel)

    with pytest.raises(PartyStoppedError, match=r"'b' stopped in step 'round 4': ValueError; saved: ch.*3$") as caught:
        run_parties({"a": waits, "b": fails})
    assert isinstance(caught.value.__cause__, ValueError)
    assert "4711" not in str(caught.value)
    assert [(e.party, e.step, e.saved) for e in seen] == [("b", "round 4", "checkpoint of round 3")]


def test_a_party_that_raises_while_another_party_waits_in_send() -> None:
    def sends_for_ever(channel: Channel) -> None:
        while True:
            channel.send("b", "flood", bytes(64 << 20))

    def fails(channel: Channel) -> None:
        channel.receive("a", "flood")
        raise RuntimeError("enough")

    with pytest.raises(PartyStoppedError, match="'b' stopped in step 'flood': RuntimeError"):
        run_parties({"a": sends_for_ever, "b": fails}, timeout_s=math.inf)


def test_a_party_that_times_out_is_the_failure() -> None:
    release = threading.Event()

    def waits(channel: Channel) -> None:
        try:
            channel.receive("b", "update", timeout_s=0.01)
        finally:
            release.set()

    def computes(channel: Channel) -> None:
        release.wait()
        channel.send("a", "update", b"late")

    with pytest.raises(PartyStoppedError, match=r"'a' stopped in step 'update'.*nothing from 'b'") as caught:
        run_parties({"a": waits, "b": computes})
    assert isinstance(caught.value.__cause__, ChannelTimeoutError)


def test_a_party_that_finishes_early_is_named_at_once() -> None:
    def leaves(channel: Channel) -> None:
        channel.send("a", "hello", b"")

    def waits(channel: Channel) -> None:
        channel.receive("b", "hello")
        channel.receive("b", "update", timeout_s=math.inf)

    with pytest.raises(PartyStoppedError, match=r"'b' has finished without sending step 'update'.*'hello'") as caught:
        run_parties({"a": waits, "b": leaves, "c": wait_for_ever_on("a", [])})
    assert (caught.value.party, caught.value.step) == ("b", "update")


def test_a_message_of_a_finished_party_is_still_delivered() -> None:
    a_may_read = threading.Event()

    def leaves(channel: Channel) -> None:
        channel.send("a", "last words", b"bye")
        a_may_read.set()

    def reads(channel: Channel) -> bytes:
        a_may_read.wait()
        return channel.receive("b", "last words")

    assert run_parties({"a": reads, "b": leaves})["a"] == b"bye"


def test_a_message_nobody_reads_is_an_error() -> None:
    started = threading.Event()

    def sends(channel: Channel) -> None:
        channel.send("b", "extra", b"")
        started.set()

    def ignores(channel: Channel) -> None:
        started.wait()

    with pytest.raises(ChannelError, match=r"'b' finished without reading what 'a' sent.*'extra'"):
        run_parties({"a": sends, "b": ignores})


def test_a_message_to_a_finished_party_is_an_error() -> None:
    def leaves(channel: Channel) -> None:
        channel.send("a", "bye", b"")

    def sends_too_late(channel: Channel) -> None:
        with pytest.raises(PartyStoppedError, match="finished without sending step 'more'"):
            channel.receive("b", "more")
        channel.receive("b", "bye")
        channel.send("b", "extra", b"")

    with pytest.raises(PartyStoppedError, match="'b' has finished and will never read step 'extra'"):
        run_parties({"a": sends_too_late, "b": leaves})


def test_a_running_party_is_told_at_its_next_call() -> None:
    failed = threading.Event()
    seen: list[PartyStoppedError] = []

    def fails(channel: Channel) -> None:
        failed.set()
        raise RuntimeError

    def computes(channel: Channel) -> None:
        failed.wait()
        with pytest.raises(PartyStoppedError) as caught:
            channel.receive("b", "never sent", timeout_s=math.inf)
        seen.append(caught.value)
        channel.send("b", "step", b"")  # still refused

    with pytest.raises(PartyStoppedError, match="'b' stopped"):
        run_parties({"a": computes, "b": fails})
    assert seen[0].party == "b"


def test_a_system_exit_in_a_role_ends_the_run() -> None:
    def leaves(channel: Channel) -> None:
        raise SystemExit(3)

    with pytest.raises(PartyStoppedError, match=r"'b' stopped.*SystemExit"):
        run_parties({"a": wait_for_ever_on("b", []), "b": leaves})


def test_ctrl_c_in_the_caller_stops_all_parties() -> None:
    seen: list[PartyStoppedError] = []
    stopped = threading.Event()

    def interrupts(channel: Channel) -> None:
        for peer in "bc":
            channel.receive(peer, "started")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            wait_for_ever_on("b", seen)(channel)
        finally:
            stopped.set()

    def waits(channel: Channel) -> None:
        channel.send("a", "started", b"")
        wait_for_ever_on("a", seen)(channel)

    def computes(channel: Channel) -> None:
        channel.send("a", "started", b"")
        stopped.wait()

    with pytest.raises(KeyboardInterrupt):
        run_parties({"a": interrupts, "b": waits, "c": computes}, timeout_s=math.inf)
    assert len(seen) == 2
    assert all("'the caller' stopped" in str(error) and "KeyboardInterrupt" in str(error) for error in seen)


def test_the_caller_waits_in_parts_that_end() -> None:
    """A signal that comes just before a wait begins is heard only when the wait ends."""
    hub = InProcessHub(("a",))
    waited_s: list[float | None] = []

    class News(SimpleQueue[None]):
        def get(self, block: bool = True, timeout: float | None = None) -> None:
            waited_s.append(timeout)
            hub.finish("a")
            raise Empty

    hub._news = News()
    hub.wait_until_all_finished()
    assert [seconds is not None and seconds <= 1 for seconds in waited_s] == [True]


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads interrupt each other as often as they can."""
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual_s)


def test_with_a_turn_one_role_computes_at_a_time(eager_threads) -> None:
    """Each role computes between its messages; who does is noted, and nobody else's note comes between."""
    names = ("a", "b", "c", "d")
    notes: list[str] = []

    def play(channel: Channel) -> int:
        for number in range(50):
            for _ in range(500):
                notes.append(channel.party)
            for peer in names:
                if peer != channel.party:
                    channel.send(peer, f"{number}", b"x" * number)
            for peer in names:
                if peer != channel.party:
                    assert channel.receive(peer, f"{number}") == b"x" * number
        return len(notes)

    turn = threading.Lock()
    results = run_parties(dict.fromkeys(names, play), turn=turn)
    assert set(results) == set(names)
    assert not turn.locked()
    starts = range(0, len(notes), 500)
    assert all(len(set(notes[start : start + 500])) == 1 for start in starts)


def test_a_turn_is_given_back_by_a_role_that_fails_or_is_interrupted() -> None:
    turn = threading.Lock()

    def fails(channel: Channel) -> None:
        raise InputError("no")

    def waits(channel: Channel) -> None:
        channel.receive("a", "step")

    with pytest.raises(PartyStoppedError):
        run_parties({"a": fails, "b": waits, "c": waits}, turn=turn)
    assert not turn.locked()


def test_what_was_sent_before_the_run_ended_still_arrives() -> None:
    """So that all parties save a round that the one that fails had told them of."""
    found: list[bytes] = []
    turn = threading.Lock()

    def tells_and_fails(channel: Channel) -> None:
        for peer in "bc":
            channel.receive(peer, "asked")
        for peer in "bc":
            channel.send(peer, "agreed", b"yes")
        raise InputError("the machine goes down")

    def reads_on(channel: Channel) -> None:
        channel.send("a", "asked", b"")
        found.append(channel.receive("a", "agreed"))
        channel.receive("a", "next")

    with pytest.raises(PartyStoppedError, match="the machine goes down"):
        run_parties({"a": tells_and_fails, "b": reads_on, "c": reads_on}, turn=turn)
    assert found == [b"yes", b"yes"]
