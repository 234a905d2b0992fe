"""A process that was stopped, or that lies, holds nobody up for good: neither a role's nor the relay's."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest
from tests.launch.local.relays import JOB, join, play, relay_at

from hekat.channel import Channel, InProcessHub
from hekat.channel.in_process import HEAR_EVERY_S
from hekat.errors import ChannelTimeoutError, JobError, PartyLostError, PartyStoppedError
from hekat.launch.frames import ConnectionEndedError, receive_frame, send_frame
from hekat.launch.local import JoinRequest, RelayChannel, RunTerms, relay_channel
from hekat.launch.local import relay as relay_module
from hekat.launch.local.connection import RoleConnection


@pytest.fixture
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("r") / "relay"


@contextmanager
def stopped_after_joining(path, role: str):
    """A process that takes part and then neither says nor takes anything, as after SIGSTOP."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        send_frame(connection, vars(JoinRequest.of(role, JOB)))
        yield connection


@pytest.mark.parametrize("may_drop_out", ["", "b"])
def test_the_relay_ends_without_a_role_that_says_nothing_more(path, may_drop_out: str) -> None:
    with relay_at(path, "ab", silence_s=0.3, may_drop_out=may_drop_out) as relay, ThreadPoolExecutor(1) as pool:
        with stopped_after_joining(path, "b"):
            other = pool.submit(play, path, "a", lambda channel: channel.party)
            told: list[PartyLostError] = []
            if may_drop_out:
                relay.serve(told.append)
                assert [error.reason for error in told] == ["its process said nothing"]
            else:
                with pytest.raises(PartyStoppedError, match=r"party 'b' stopped.*its process said nothing"):
                    relay.serve()
        assert other.result(20) == "a"


def test_roles_that_all_compute_for_long_are_not_silent(path, monkeypatch) -> None:
    """Between its calls a process says that it goes on, as one that was stopped cannot."""
    monkeypatch.setattr(relay_channel, "_ALIVE_EVERY_S", 0.02)
    looks = Event()
    silent_s = RoleConnection.silent_s
    seen: list[float] = []

    def note(self) -> float:
        seen.append(found := silent_s.fget(self))
        # At two roles in each HEAR_EVERY_S, twice the time after which a process would count as silent.
        if len(seen) > 2 * 1.0 / HEAR_EVERY_S:
            looks.set()
        return found

    monkeypatch.setattr(RoleConnection, "silent_s", property(note))

    def computes(channel: Channel) -> str:
        assert looks.wait(20)
        return channel.party

    with relay_at(path, "ab", silence_s=0.5) as relay, ThreadPoolExecutor(2) as pool:
        played = [pool.submit(play, path, name, computes) for name in "ab"]
        relay.serve()
    assert [future.result() for future in played] == ["a", "b"]


def test_ctrl_c_waits_for_no_process_that_was_stopped(path, monkeypatch) -> None:
    monkeypatch.setattr(relay_module, "_TOLD_WITHIN_S", 0.2)
    monkeypatch.setattr(InProcessHub, "wait_until_all_finished", interrupt)
    with (
        relay_at(path, "ab") as relay,
        stopped_after_joining(path, "a"),
        stopped_after_joining(path, "b"),
        pytest.raises(KeyboardInterrupt),
    ):
        relay.serve()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def read_to_the_end(connection: socket.socket) -> None:
    """What waited may be answered, by an error, before the connection ends."""
    assert "error" in receive_frame(connection).header
    receive_frame(connection)


CALL = {"call": "receive", "sender": "a", "step": "never", "timeout_s": None}


def test_a_role_that_sends_more_than_is_answered_is_lost(path) -> None:
    """Frames that wait for an answer lie in the relay's memory: without end they would take the run of all."""
    with (
        relay_at(path, "ab", may_drop_out="b") as relay,
        ThreadPoolExecutor(2) as pool,
        stopped_after_joining(path, "b") as connection,
    ):
        served, over = pool.submit(relay.serve), Event()
        other = pool.submit(play, path, "a", lambda channel: over.wait(20))
        connection.settimeout(20)
        receive_frame(connection)
        send_frame(connection, CALL)
        send_frame(connection, CALL, bytes(1 << 20))
        with pytest.raises(ConnectionEndedError):
            read_to_the_end(connection)
        over.set()
        other.result(20)
        served.result(20)


def test_a_role_that_calls_before_the_run_begins_is_let_in_no_more(path) -> None:
    with (
        relay_at(path, "ab") as relay,
        ThreadPoolExecutor(1) as pool,
        stopped_after_joining(path, "b") as connection,
    ):
        served = pool.submit(relay.serve)
        connection.settimeout(20)
        send_frame(connection, CALL)
        with pytest.raises(ConnectionEndedError):
            receive_frame(connection)
        relay.abandon(JobError("enough"))
        assert isinstance(served.exception(20), JobError)


def test_a_role_that_takes_no_answer_is_lost(path) -> None:
    """Its answer fills the socket; without a limit the relay would wait in it and hear of no end."""
    with relay_at(path, "ab", silence_s=0.5, may_drop_out="b") as relay, ThreadPoolExecutor(2) as pool:
        served = pool.submit(relay.serve)
        with stopped_after_joining(path, "b") as connection:
            other = pool.submit(play, path, "a", lambda channel: channel.send("b", "rows", bytes(1 << 23)))
            receive_frame(connection)
            send_frame(connection, {"call": "receive", "sender": "a", "step": "rows", "timeout_s": None})
            other.result(20)
            served.result(20)


def test_a_relay_that_says_nothing_ends_the_role(path, monkeypatch) -> None:
    monkeypatch.setattr(relay_channel, "_ANSWERS_WITHIN_S", 0.2)
    monkeypatch.setattr(relay_channel, "JOINS_WITHIN_S", 0.0)
    mine, theirs = socket.socketpair()
    with mine, theirs:
        channel = RelayChannel(mine, "a", RunTerms("run-1", ("a", "b")), timeout_s=0.1)
        with pytest.raises(ChannelTimeoutError, match="the relay of 'a' says nothing"):
            channel.receive("b", "number")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with pytest.raises(ChannelTimeoutError, match="the relay of 'a' says nothing"), join(path, "a", timeout_s=0.1):
            pass


@pytest.mark.parametrize("was_told", [False, True])
def test_a_role_names_no_other_as_the_reason_of_its_end_but_whose_end_it_was_told(path, was_told: bool) -> None:
    """Otherwise any role could have the relay, and its report, put its own stop down to another."""
    told = {"kind": "PartyStoppedError", "what": "party 'b' stopped", "party": "b", "step": "s"}
    with relay_at(path, "abc", timeout_s=1.0) as relay, ThreadPoolExecutor(3) as pool:
        served = pool.submit(relay.serve)
        over = Event()
        others = [pool.submit(play, path, "c", lambda channel: over.wait(20))]
        others.append(pool.submit(play, path, "b", lambda channel: None if was_told else over.wait(20)))
        with stopped_after_joining(path, "a") as connection:
            receive_frame(connection)
            if was_told:
                send_frame(connection, {"call": "receive", "sender": "b", "step": "never", "timeout_s": None})
                told = receive_frame(connection).header["error"]
            send_frame(connection, {"call": "fail", "kind": "InputError", "told": told})
            receive_frame(connection)
        over.set()
        for other in others:
            other.result(20)
        end = served.exception(20)
    assert isinstance(end, PartyStoppedError)
    assert end.party == ("b" if was_told else "a")
