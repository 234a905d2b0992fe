"""Roles over a relay's socket meet what roles in one process meet: results, dropouts, stops and time-outs."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.launch.local.relays import JOB, Role, join, play, relay_at, serving

from hekat.channel import Channel, PartyKey, SealedChannel, run_parties
from hekat.channel.pair_key import PairKeys
from hekat.errors import (
    ChannelError,
    ChannelTimeoutError,
    InputError,
    JobError,
    ModelsDifferError,
    PartyLostError,
    PartyStoppedError,
    PolicyError,
    StateError,
)
from hekat.launch.frames import MAX_HEADER_BYTES, receive_frame, send_frame
from hekat.launch.local import JoinRequest, RelayChannel, RunTerms


@pytest.fixture
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("r") / "relay"


@pytest.fixture
def party_key_pair() -> dict[str, PartyKey]:
    return {name: PartyKey.generate() for name in "ab"}


def over_relay(
    path: Path, roles: Mapping[str, Role], may_be_lost: Collection[str] = (), on_lost=None
) -> dict[str, Future[object]]:
    """What each role returned or raised; raises what the relay ends with."""
    with relay_at(path, roles, may_drop_out=may_be_lost) as relay, ThreadPoolExecutor(len(roles)) as pool:
        played = {name: pool.submit(play, path, name, body) for name, body in roles.items()}
        try:
            relay.serve(on_lost)
        finally:
            pool.shutdown()
    return played


def add(channel: Channel) -> int:
    total = 0
    for name in ("b", "c"):
        try:
            total += int(channel.receive(name, "number"))
        except PartyLostError as error:
            total += 1000 * len(error.reason)
    for name in ("b", "c"):
        try:
            channel.send(name, "total", str(total).encode())
        except PartyLostError:
            continue
    return total


def give(number: int) -> Role:
    def role(channel: Channel) -> int:
        channel.send("a", "number", str(number).encode())
        channel.note_saved("checkpoint of round 1")
        return int(channel.receive("a", "total"))

    return role


def fails(channel: Channel) -> None:
    raise InputError("label missing in row 17", cure="look at row 17")


def test_roles_over_a_socket_end_as_in_one_process(path) -> None:
    roles = {"a": add, "b": give(2), "c": give(3)}
    found = {name: future.result() for name, future in over_relay(path, roles).items()}
    assert found == run_parties(roles) == {"a": 5, "b": 5, "c": 5}
    assert not path.exists()


def test_the_socket_is_its_owners_alone(path) -> None:
    with relay_at(path, "ab"):
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("size", [0, 1, 3 << 20])
def test_any_bytes_pass(path, size: int) -> None:
    payload = bytes(range(256)) * (size // 256) + b"\xff" * (size % 256)
    roles: dict[str, Role] = {
        "a": lambda channel: channel.send("b", "x", payload),
        "b": lambda channel: channel.receive("a", "x"),
    }
    assert over_relay(path, roles)["b"].result() == payload


def test_a_dropout_is_told_to_all_by_kind_and_not_by_its_words(path) -> None:
    told: list[PartyLostError] = []
    played = over_relay(path, {"a": add, "b": fails, "c": give(3)}, "b", told.append)
    in_process: list[PartyLostError] = []
    results = run_parties({"a": add, "b": fails, "c": give(3)}, may_be_lost="b", on_lost=in_process.append)
    assert {name: played[name].result() for name in "ac"} == results
    assert isinstance(played["b"].exception(), InputError)
    assert [(error.party, error.step) for error in told] == [(error.party, error.step) for error in in_process]
    assert "17" not in str(told[0])
    assert told[0].reason == "InputError"


def test_a_stop_of_one_is_every_others(path) -> None:
    roles = {"a": add, "b": fails, "c": give(3)}
    with pytest.raises(PartyStoppedError) as caught:
        over_relay(path, roles)
    with pytest.raises(PartyStoppedError) as in_process:
        run_parties(roles)
    assert (caught.value.party, caught.value.step) == (in_process.value.party, in_process.value.step)
    assert "17" not in str(caught.value)


def test_every_role_learns_who_stopped_and_what_was_saved(path) -> None:
    found: dict[str, PartyStoppedError] = {}
    begun = Event()

    def stops(channel: Channel) -> None:
        channel.receive("a", "go")
        channel.note_saved("checkpoint of round 1")
        begun.wait(20)
        raise InputError("label missing in row 17")

    def waits(channel: Channel) -> None:
        if channel.party == "a":
            channel.send("b", "go", b"")
        begun.set()
        try:
            channel.receive("b", "answer")
        except PartyStoppedError as error:
            found[channel.party] = error
            raise

    with pytest.raises(PartyStoppedError):
        over_relay(path, {"a": waits, "b": stops, "c": waits})
    assert {(error.party, error.step, error.saved) for error in found.values()} == {
        ("b", "go", "checkpoint of round 1")
    }
    assert all(error.told_reason == "InputError" for error in found.values())


def test_a_time_out_names_whom_and_what(path) -> None:
    def impatient(channel: Channel) -> None:
        channel.receive("b", "number", timeout_s=0.01)

    over = Event()
    roles: dict[str, Role] = {"a": impatient, "b": lambda channel: over.wait(0.5)}
    with pytest.raises(PartyStoppedError, match="'a' stopped in step 'number'"):
        over_relay(path, roles)


def test_an_expelled_party_is_told_by_whom_and_why(path) -> None:
    def expels(channel: Channel) -> None:
        channel.expel("b", "its update was of another size")

    def is_expelled(channel: Channel) -> None:
        channel.receive("a", "number")

    told: list[PartyLostError] = []
    played = over_relay(path, {"a": expels, "b": is_expelled}, "b", told.append)
    error = played["b"].exception()
    assert isinstance(error, PartyStoppedError)
    assert (error.expelled_by, error.told_reason) == ("a", "its update was of another size")
    assert [error.party for error in told] == ["b"]


def test_sealed_sessions_open_over_it_and_signed_dropouts_hold(path) -> None:
    keys = {name: PartyKey.generate() for name in "abc"}
    public = {name: key.public for name, key in keys.items()}

    def sealed(role: Role) -> Role:
        def play(channel: Channel) -> object:
            name = channel.party
            with SealedChannel(
                channel, keys[name], public, run_id="run-1", protocol="test", job_digest=JOB
            ) as sealed_channel:
                sealed_channel.open_session()
                return role(sealed_channel)

        return play

    roles = {name: sealed(role) for name, role in {"a": add, "b": fails, "c": give(3)}.items()}
    played = over_relay(path, roles, "b")
    # The signed notice of the dropout was verified on the way: without it add() ends by a SealError.
    assert played["a"].result() == played["c"].result() == 3 + 1000 * len("InputError")


PROCESS = """
import os, sys
from pathlib import Path
from hekat.launch.local import JoinRequest, join_relay
with join_relay(Path(sys.argv[1]), JoinRequest.of("b", bytes(range(32))), timeout_s=20.0) as channel:
    channel.send("a", "begun", b"")
    if sys.argv[2] == "kill itself":
        os.kill(os.getpid(), 9)
    channel.receive("a", "never")
"""


@pytest.mark.long_cases("be killed while it waits")
@pytest.mark.parametrize("way", ["kill itself", "be killed while it waits"])
def test_a_killed_process_is_a_dropout_at_once(path, way: str) -> None:
    process: list[subprocess.Popen[bytes]] = []

    def survives(channel: Channel) -> str:
        channel.receive("b", "begun")
        if way != "kill itself":
            process[0].kill()
        with pytest.raises(PartyLostError) as caught:
            channel.receive("b", "number")
        return caught.value.reason

    over = Event()
    with relay_at(path, "abc", may_drop_out="b") as relay, ThreadPoolExecutor(2) as pool:
        survivor = pool.submit(play, path, "a", survives)
        survivor.add_done_callback(lambda future: over.set())
        # It does not wait for a message: else all would, and the first time-out would pass at once.
        pool.submit(play, path, "c", lambda channel: over.wait(20))
        process.append(subprocess.Popen([sys.executable, "-c", PROCESS, path, way]))
        told: list[PartyLostError] = []
        relay.serve(told.append)
        assert survivor.result() == told[0].reason == "its process ended"
    assert process[0].wait(20) == -9


def refused(path: Path, role: str, **changes: str) -> Exception:
    with pytest.raises((ChannelError, JobError, PolicyError)) as caught, join(path, role, **changes):
        pass
    return caught.value


@pytest.mark.parametrize(
    ("role", "changes", "said"),
    [
        ("z", {}, "the job has no role 'z'"),
        ("b", {"job_digest": "00" * 32}, "'b' was given another job"),
        ("b", {"release": "0.1.0"}, "'b' is played by another release"),
    ],
)
def test_who_does_not_belong_is_refused_by_name_and_the_run_goes_on(path, role, changes, said) -> None:
    with relay_at(path, "ab") as relay, ThreadPoolExecutor(2) as pool:
        ends = serving(relay)
        assert said in str(refused(path, role, **changes))
        played = [pool.submit(play, path, name, lambda channel: channel.party) for name in "ab"]
        assert [future.result() for future in played] == ["a", "b"]
    assert not ends


def test_a_second_process_for_a_role_is_refused_and_the_first_goes_on(path) -> None:
    with relay_at(path, "ab") as relay, ThreadPoolExecutor(2) as pool:
        serving(relay)
        first = socket.socket(socket.AF_UNIX)
        first.connect(str(path))
        send_frame(first, vars(JoinRequest.of("a", JOB)))
        with relay._changed:
            assert relay._changed.wait_for(lambda: "a" in relay._joined, 20)
        assert "role 'a' is played already" in str(refused(path, "a"))
        later = pool.submit(play, path, "b", lambda channel: channel.party)
        assert receive_frame(first).header["roles"] == ["a", "b"]
        RelayChannel(first, "a", relay.terms, timeout_s=20.0).finish()
        assert later.result() == "b"


def test_roles_that_never_come_are_named_to_those_that_did_and_to_the_relay(path) -> None:
    with relay_at(path, "abc", timeout_s=0.3) as relay, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(refused, path, "a")
        with pytest.raises(ChannelTimeoutError, match="no b and no c"):
            relay.serve()
        assert isinstance(waiting.result(), ChannelTimeoutError)
        assert "hekat run JOB --role b" in str(waiting.result())


def test_a_relay_that_is_abandoned_says_why(path) -> None:
    with relay_at(path, "ab") as relay, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(refused, path, "a")
        relay.abandon(JobError("the process of 'b' ended before it joined"))
        with pytest.raises(JobError, match="'b' ended"):
            relay.serve()
        assert "'b' ended" in str(waiting.result())


def test_without_a_relay_the_path_is_named(path) -> None:
    assert "there is no relay at" in str(refused(path, "a"))


def test_a_path_that_is_taken_or_too_long_is_refused(path) -> None:
    path.touch()
    with pytest.raises(StateError, match="no relay can be served"), relay_at(path, "a"):
        pass
    assert path.exists()
    with pytest.raises(InputError, match="too long"), relay_at(Path("/" + "x" * 200), "a"):
        pass


def test_frames_that_announce_too_much_are_refused() -> None:
    mine, theirs = socket.socketpair()
    with mine, theirs:
        mine.sendall((MAX_HEADER_BYTES + 1).to_bytes(4, "little") + bytes(8))
        with pytest.raises(ChannelError, match="malformed frame"):
            receive_frame(theirs)


def test_a_relay_that_goes_away_ends_the_role_by_name() -> None:
    mine, theirs = socket.socketpair()
    theirs.close()
    with mine, pytest.raises(ChannelError, match="the relay of 'a' is gone"):
        RelayChannel(mine, "a", RunTerms("run-1", ("a", "b")), timeout_s=20.0).receive("b", "number")


@pytest.mark.parametrize("answers", [True, False])
def test_a_role_that_fails_ends_by_its_own_error_whatever_its_relay_says(party_key_pair, answers: bool) -> None:
    """A relay that works with somebody would have a party forget what it found, such as models that differ."""
    mine, theirs = socket.socketpair()
    keys, channel = party_key_pair, RelayChannel(mine, "a", RunTerms("run-1", ("a", "b")), timeout_s=20.0)

    def lie() -> None:
        while answers:
            try:
                receive_frame(theirs)
                send_frame(theirs, {"error": {"kind": "JobError", "what": "start the run again"}})
            except ChannelError:
                return

    public = {name: key.public for name, key in keys.items()}
    sealed = SealedChannel(channel, keys["a"], public, run_id="run-1", protocol="test", job_digest=JOB)
    sealed._session = PairKeys(bytes(32), "a", keys["a"], public, None, {})
    liar = Thread(target=lie, daemon=True)
    liar.start()
    if not answers:
        theirs.close()
    found = ModelsDifferError("the parties ended with different models")
    with pytest.raises(ModelsDifferError) as caught, sealed:
        raise found
    channel.fail(found)
    assert caught.value is found
    assert sealed._session is None
    mine.close()
    liar.join(20)


@pytest.mark.parametrize("last", [{"call": "fail"}, {"call": "fail", "kind": ""}, {"call": "receive", "sender": "b"}])
def test_a_role_that_leaves_by_a_malformed_call_ends_the_run_by_name(path, last) -> None:
    with relay_at(path, "ab") as relay, ThreadPoolExecutor(1) as pool:
        ends = serving(relay)
        other = pool.submit(play, path, "b", lambda channel: channel.receive("a", "number"))
        with socket.socket(socket.AF_UNIX) as role:
            role.connect(str(path))
            send_frame(role, vars(JoinRequest.of("a", JOB)))
            receive_frame(role)
            send_frame(role, last)
            assert "error" in receive_frame(role).header
        error = other.exception(20)
    assert isinstance(error, PartyStoppedError)
    assert "its process ended" in str(error)
    assert len(ends) <= 1
