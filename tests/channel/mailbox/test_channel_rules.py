"""The rules of `Channel`, for every channel there is: in one process, and over mailboxes whose network has each fault.

What the parties are told of ends is told through sealed sessions: over a network only a signed word counts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tests.channel.mailbox.fake_relay import FAULTS, LIMIT_S, FakeRelay, Faults

from hekat.channel import Channel, InProcessHub, PartyKey, SealedChannel
from hekat.errors import (
    AlteredSumError,
    ChannelError,
    ChannelTimeoutError,
    HekatError,
    InputError,
    PartyLostError,
    PartyStoppedError,
)

NETWORKS = {"in one process": None, "mailboxes": Faults()} | FAULTS


@dataclass
class Run:
    """The ends of a run's parties, and what a launcher tells the channel of how they ended."""

    ends: dict[str, Channel]
    fail: Callable[[str, BaseException], object]
    finish: Callable[[str], object]

    def seal(self) -> dict[str, SealedChannel]:
        """The open sessions of all."""
        keys = {name: PartyKey.generate() for name in self.ends}
        public = {name: key.public for name, key in keys.items()}
        sealed = {
            name: SealedChannel(end, keys[name], public, run_id="run-1", protocol="test", job_digest=bytes(32))
            for name, end in self.ends.items()
        }
        in_threads([channel.open_session for channel in sealed.values()])
        return sealed

    def raise_in(self, sealed: SealedChannel, error: BaseException) -> None:
        """The role of that end raises `error`."""
        with pytest.raises(type(error)), sealed:
            raise error
        self.fail(sealed.party, error)


@pytest.fixture(params=NETWORKS)
def new_run(request) -> Callable[..., Run]:
    """Makes a run of parties named by letters."""
    faults = NETWORKS[request.param]

    def make(names: str, may_be_lost: str = "", timeout_s: float = LIMIT_S, **settings) -> Run:
        if faults is None:
            hub = InProcessHub(tuple(names), timeout_s, may_be_lost=frozenset(may_be_lost), **settings)
            return Run({name: hub.channel(name) for name in names}, hub.fail, hub.finish)
        relay = FakeRelay(faults, seed=11)
        ends = relay.add_all(tuple(names), may_be_lost, timeout_s=timeout_s, **settings)
        boxes = relay.mailboxes
        return Run(
            {end.party: end for end in ends},
            lambda name, error: boxes[name].fail(error),
            lambda name: boxes[name].finish(),
        )

    return make


def in_threads(calls) -> list[BaseException]:
    """What each call raised; none hangs."""
    errors: list[BaseException] = []

    def play(call) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=play, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * LIMIT_S)
        assert not thread.is_alive()
    return errors


# --- messages ------------------------------------------------------------------------------------------------


def test_it_is_a_channel_and_knows_its_parties(new_run) -> None:
    channel = new_run("ab").ends["a"]
    assert isinstance(channel, Channel)
    assert (channel.party, channel.parties) == ("a", ("a", "b"))


def test_messages_are_matched_by_sender_and_step_and_kept_until_asked_for(new_run) -> None:
    a, b, c = new_run("abc").ends.values()
    a.send("b", "first", b"a1")
    a.send("b", "second", b"a2")
    c.send("b", "second", b"c2")
    assert b.receive("c", "second") == b"c2"
    assert b.receive("a", "second") == b"a2"
    assert b.receive("a", "first") == b"a1"


def test_messages_of_one_step_keep_their_order(new_run) -> None:
    a, b = new_run("ab").ends.values()
    for index in range(50):
        a.send("b", "step", bytes([index]))
    assert [b.receive("a", "step") for _ in range(50)] == [bytes([index]) for index in range(50)]


@pytest.mark.quick_values
@pytest.mark.parametrize("payload", [b"", b"\0", bytes(5 << 20)], ids=["nothing", "a zero", "5 MiB"])
def test_any_bytes_pass(new_run, payload: bytes) -> None:
    a, b = new_run("ab").ends.values()
    a.send("b", "step", payload)
    assert b.receive("a", "step") == payload


def test_a_time_out_names_the_awaited_party_and_step(new_run) -> None:
    run = new_run("ab", timeout_s=0.02)
    for given in ({}, {"timeout_s": 0.02}):
        with pytest.raises(ChannelTimeoutError, match=r"'b' in step 'update 3'.*within 0\.02 s"):
            run.ends["a"].receive("b", "update 3", **given)


def test_malformed_arguments_are_refused(new_run) -> None:
    a = new_run("abc").ends["a"]
    for peer in ("a", "nobody", ""):
        for call in (lambda peer=peer: a.send(peer, "step", b""), lambda peer=peer: a.receive(peer, "step")):
            with pytest.raises(InputError, match="one of: b, c"):
                call()
    for step in ("", "line\nbreak", "x" * 257, "\ud800"):
        for call in (lambda step=step: a.send("b", step, b""), lambda step=step: a.receive("b", step)):
            with pytest.raises(InputError, match="step name"):
                call()
    for timeout_s in (0, -1.0, math.nan):
        with pytest.raises(InputError, match="time-out"):
            a.receive("b", "step", timeout_s=timeout_s)
    with pytest.raises(InputError, match="bytes"):
        a.send("b", "step", bytearray(3))  # type: ignore[arg-type]


def test_settings_are_checked(new_run) -> None:
    with pytest.raises(InputError, match="time-out"):
        new_run("ab", timeout_s=math.nan)
    with pytest.raises(InputError, match="max_waiting_bytes"):
        new_run("ab", max_waiting_bytes=0)
    with pytest.raises(InputError, match="one of: a, b"):
        new_run("ab", may_be_lost="c")
    with pytest.raises(InputError, match="party is named twice"):
        new_run("aa")


# --- room ----------------------------------------------------------------------------------------------------


def test_back_pressure_lets_every_message_through(new_run) -> None:
    a, b = new_run("ab", max_waiting_bytes=8).ends.values()
    payloads = [bytes([index]) * (index % 9) for index in range(30)]
    found: list[bytes] = []

    def send() -> None:
        for payload in payloads:
            a.send("b", "s", payload)

    assert not in_threads([send, lambda: found.extend(b.receive("a", "s") for _ in payloads)])
    assert found == payloads


def test_a_step_that_cannot_get_past_the_waiting_ones_is_an_error_and_no_wait(new_run) -> None:
    run = new_run("ab", timeout_s=math.inf, max_waiting_bytes=1)
    a, b = run.ends.values()
    found: list[BaseException] = []

    def fill() -> None:
        a.send("b", "one", b"1")
        a.send("b", "two", b"2")

    def skip() -> None:
        try:
            b.receive("a", "two")
        except ChannelError as error:
            found.append(error)
            run.fail("b", error)

    in_threads([fill, skip])
    assert "'two' of 'a', which can never come" in str(found[0])
    assert "unread from 'a': 'one'" in str(found[0])


# --- ends ----------------------------------------------------------------------------------------------------


def test_a_lost_party_is_told_by_its_kind_and_what_it_sent_stays_readable(new_run) -> None:
    run = new_run("abc", "bc")
    a, b, c = run.seal().values()
    b.send("a", "round 2", b"1")
    b.note_saved("checkpoint of round 1")
    run.raise_in(b, InputError("label missing in row 17"))
    assert a.receive("b", "round 2") == b"1"
    for call in (lambda: a.receive("b", "sum"), lambda: c.send("b", "late", b""), lambda: c.receive("b", "sum")):
        with pytest.raises(PartyLostError, match=r"'b' was lost in step 'round 2' \(InputError\)") as told:
            call()
        assert (told.value.party, told.value.step, told.value.reason) == ("b", "round 2", "InputError")
        assert told.value.notice.saved == "checkpoint of round 1"
        assert "row 17" not in str(told.value)
    a.send("c", "go on", b"2")
    assert c.receive("a", "go on") == b"2"


def test_who_is_given_up_on_hears_by_whom_and_why_and_all_others_hear_it(new_run) -> None:
    run = new_run("abc", "bc")
    a, b, c = run.seal().values()
    b.send("c", "share", b"1")
    b.send("a", "update", b"2")
    assert c.receive("b", "share") == b"1"
    a.expel("b", "a share that does not fit")
    for call in (lambda: b.receive("a", "sum"), lambda: b.send("c", "more", b"")):
        with pytest.raises(PartyStoppedError, match=r"'a' gave up on party 'b'.*: a share that does not fit") as told:
            call()
        assert told.value.party == "a"
    with pytest.raises(PartyLostError, match="'a' gave up on it: a share that does not fit"):
        c.receive("b", "never")
    with pytest.raises(PartyLostError, match="sends no step 'update', which 'a' awaits"):
        a.receive("b", "update")


@pytest.mark.quick_values
@pytest.mark.parametrize(
    ("reason", "told"),
    [("two\nlines, \x1b[2J and \ud800", "two?lines, ?[2J and ?"), ("é" * 1025, "é" * 1021 + "...")],
    ids=["unprintable", "long"],
)
def test_a_reason_is_told_in_print_and_in_short(new_run, reason: str, told: str) -> None:
    a, b, _ = new_run("abc", "b").seal().values()
    a.expel("b", reason)
    with pytest.raises(PartyStoppedError) as stopped:
        b.receive("a", "step")
    assert f": {told}" in str(stopped.value)


def test_only_one_that_may_be_lost_is_given_up_on_and_for_a_reason(new_run) -> None:
    a = new_run("abc", "b").ends["a"]
    with pytest.raises(InputError, match="'a' cannot give up on party 'c'"):
        a.expel("c", "because")
    for peer in ("a", "nobody"):
        with pytest.raises(InputError, match="one of: b, c"):
            a.expel(peer, "because")
    for reason in ("", b"bytes", None):
        with pytest.raises(InputError, match="no reason"):
            a.expel("b", reason)  # type: ignore[arg-type]


@pytest.mark.quick_values
@pytest.mark.parametrize(
    ("party", "error"), [("a", ValueError("4711 is a secret")), ("b", AlteredSumError("of what it saw"))]
)
def test_the_end_of_one_that_may_not_be_lost_is_everybodys(new_run, party: str, error: BaseException) -> None:
    """So is an error that says of itself that it ends the run."""
    run = new_run("abc", "bc")
    sealed = run.seal()
    sealed[party].send("c", "before", b"1")
    sealed[party].note_saved("checkpoint of round 2")
    run.raise_in(sealed[party], error)
    assert sealed["c"].receive(party, "before") == b"1"
    with pytest.raises(PartyStoppedError, match=rf"'{party}' stopped in .*\({type(error).__name__}\)") as told:
        sealed["c"].receive("a" if party == "b" else "b", "never")
    assert (told.value.party, told.value.saved) == (party, "checkpoint of round 2")
    assert "4711" not in str(told.value)


def test_who_has_finished_is_awaited_no_longer(new_run) -> None:
    run = new_run("abc", "bc")
    sealed = run.seal()
    with sealed["b"]:
        sealed["b"].send("c", "last", b"1")
    run.finish("b")
    assert sealed["c"].receive("b", "last") == b"1"
    for call in (lambda: sealed["c"].receive("b", "more"), lambda: sealed["c"].send("b", "more", b"")):
        with pytest.raises(PartyStoppedError, match="'b' has finished"):
            call()


def test_a_call_that_waits_already_hears_of_an_end(new_run) -> None:
    run = new_run("abc", "bc", timeout_s=math.inf)
    sealed = run.seal()
    found: list[HekatError] = []

    def wait() -> None:
        try:
            sealed["c"].receive("b", "never", timeout_s=math.inf)
        except HekatError as error:
            found.append(error)

    assert not in_threads([wait, lambda: run.raise_in(sealed["b"], InputError("no"))])
    assert isinstance(found[0], PartyLostError)
