"""A role's end of a local relay: each call goes to the relay and waits for its answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from hekat.channel.channel import check_payload, check_peer, check_step, check_timeout
from hekat.channel.dropout_notice import DropoutNotice
from hekat.errors import ChannelError, ChannelTimeoutError, HekatError, PartyStoppedError
from hekat.launch.frames import ALIVE, ConnectionEndedError, ConnectionSilentError, receive_frame, send_frame
from hekat.launch.local.terms import JoinRequest, RunTerms
from hekat.launch.local.told_errors import decode_error, encode_error, encode_notice

# The relay lets every role this long to come, or its own time for one wait.
JOINS_WITHIN_S = 600.0
# The call and its answer may travel for so long, beyond the time that the relay lets the call wait.
_ANSWERS_WITHIN_S = 30.0
_ALIVE_EVERY_S = 15.0


class RelayChannel:
    """`Channel` over a connection that the relay admitted; used by one thread at a time."""

    def __init__(self, connection: socket.socket, role: str, terms: RunTerms, *, timeout_s: float) -> None:
        """`timeout_s` is the time of one wait at the relay, by its word; the relay's own word is waited for longer."""
        self.terms = terms
        self._connection, self._role, self._timeout_s = connection, role, timeout_s
        self._sending, self._is_closed = Lock(), Event()
        Thread(target=self._say_alive, name="hekat-alive", daemon=True).start()

    @property
    def party(self) -> str:
        return self._role

    @property
    def parties(self) -> tuple[str, ...]:
        return self.terms.roles

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        """As `Channel.send`."""
        check_peer(to, self.party, self.parties)
        check_step(step)
        check_payload(payload)
        if timeout_s is not None:
            check_timeout(timeout_s)
        self._call({"call": "send", "to": to, "step": step, "timeout_s": timeout_s}, payload, timeout_s)

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        """As `Channel.receive`."""
        check_peer(sender, self.party, self.parties)
        check_step(step)
        if timeout_s is not None:
            check_timeout(timeout_s)
        header = {"call": "receive", "sender": sender, "step": step, "timeout_s": timeout_s}
        return self._call(header, timeout_s=timeout_s)

    def note_saved(self, what: str) -> None:
        """As `Channel.note_saved`."""
        self._call({"call": "note_saved", "what": what})

    def leave(self, notice: DropoutNotice) -> None:
        """As `Channel.leave`."""
        self._call({"call": "leave", "notice": encode_notice(notice)})

    def expel(self, party: str, reason: str, notice: DropoutNotice | None = None) -> None:
        """As `Channel.expel`."""
        check_peer(party, self.party, self.parties)
        header: dict[str, Any] = {"call": "expel", "party": party, "reason": reason}
        self._call(header if notice is None else {**header, "notice": encode_notice(notice)})

    def finish(self) -> None:
        """Say that the role has returned."""
        self._call({"call": "finish"})

    def fail(self, error: BaseException) -> None:
        """Say that the role has raised; the relay is told the kind of the error, and what it told itself."""
        header: dict[str, Any] = {
            "call": "fail",
            "kind": type(error).__name__,
            "ends_run": isinstance(error, HekatError) and error.ends_run,
        }
        if isinstance(error, PartyStoppedError):
            header["told"] = encode_error(error)
        with suppress(HekatError):  # a relay that is gone needs no telling, and none may answer by another error
            self._call(header)

    def close(self) -> None:
        self._is_closed.set()
        self._connection.close()

    def __repr__(self) -> str:
        return f"RelayChannel({self.party!r} of {', '.join(self.parties)})"

    def _say_alive(self) -> None:
        """Tell the relay between calls that the process was not stopped, however long the role computes."""
        with suppress(ChannelError):
            while not self._is_closed.wait(_ALIVE_EVERY_S):
                with self._sending:
                    send_frame(self._connection, ALIVE)

    def _call(self, header: Mapping[str, Any], payload: bytes = b"", timeout_s: float | None = None) -> bytes:
        limit_s = (self._timeout_s if timeout_s is None else timeout_s) + _ANSWERS_WITHIN_S
        try:
            with self._sending:
                self._connection.settimeout(limit_s)
                send_frame(self._connection, header, payload)
            frame = receive_frame(self._connection)
        except BaseException as error:
            # A call that was cut short (Ctrl-C) leaves half a frame on the way: nothing more can be said on it.
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
            if isinstance(error, ConnectionSilentError):
                raise _silent(self.party, limit_s) from error
            if not isinstance(error, ConnectionEndedError):
                raise
            raise ChannelError(
                f"the relay of {self.party!r} is gone",
                expected="a relay until the end of the run",
                got="the end of the connection",
                cure="look at why the relay's process stopped, then start the run again",
            ) from error
        _raise_told(frame.header)
        return frame.payload


@contextmanager
def join_relay(path: Path, request: JoinRequest, *, timeout_s: float) -> Iterator[RelayChannel]:
    """The channel of one role, once every role of the run has joined; the relay is told how the block ended.

    `timeout_s` is the job's time for one wait. A relay that says nothing for longer ends the role.

    Raises:
        ChannelError: no relay is there, or it ended before the run began.
        JobError: the job names no such role; the relay has another job or release.
        PolicyError: another process plays the role.
        ChannelTimeoutError: other roles never came; names them. Or the relay says nothing.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(max(timeout_s, JOINS_WITHIN_S) + _ANSWERS_WITHIN_S)
        terms = _ask_to_join(connection, path, request)
        channel = RelayChannel(connection, request.role, terms, timeout_s=timeout_s)
        with closing(channel):
            try:
                yield channel
            except BaseException as error:
                channel.fail(error)
                raise
            channel.finish()
    finally:
        connection.close()


def _ask_to_join(connection: socket.socket, path: Path, request: JoinRequest) -> RunTerms:
    try:
        connection.connect(str(path))
    except OSError as error:
        raise ChannelError(
            f"there is no relay at {path}",
            expected="the socket of a relay that is running",
            got=error.strerror or type(error).__name__,
            cure="start the relay first, or correct the path",
        ) from error
    try:
        send_frame(connection, {"role": request.role, "job_digest": request.job_digest, "release": request.release})
        header = receive_frame(connection).header
    except ConnectionSilentError as error:
        raise _silent(request.role, connection.gettimeout() or 0.0) from error
    _raise_told(header)
    return RunTerms.from_header(header)


def _silent(role: str, limit_s: float) -> ChannelTimeoutError:
    return ChannelTimeoutError(
        f"the relay of {role!r} says nothing",
        expected=f"an answer within {limit_s:g} s",
        got="none",
        cure="look at what the relay's process is doing, then start the run again",
    )


def _raise_told(header: Mapping[str, Any]) -> None:
    told = header.get("error")
    if isinstance(told, dict):
        raise decode_error(told)
