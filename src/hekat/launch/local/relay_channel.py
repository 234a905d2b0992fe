"""A role's end of a local relay: each call goes to the relay and waits for its answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hekat.channel.channel import check_payload, check_peer, check_step, check_timeout
from hekat.channel.dropout_notice import DropoutNotice
from hekat.errors import ChannelError, HekatError, PartyStoppedError
from hekat.launch.local.frames import ConnectionEndedError, receive_frame, send_frame
from hekat.launch.local.terms import JoinRequest, RunTerms
from hekat.launch.local.told_errors import decode_error, encode_error, encode_notice


class RelayChannel:
    """`Channel` over a connection that the relay admitted; used by one thread at a time."""

    def __init__(self, connection: socket.socket, role: str, terms: RunTerms) -> None:
        self.terms = terms
        self._connection, self._role = connection, role

    @property
    def party(self) -> str:
        return self._role

    @property
    def parties(self) -> tuple[str, ...]:
        return self.terms.roles

    def send(self, to: str, step: str, payload: bytes) -> None:
        """As `Channel.send`."""
        check_peer(to, self.party, self.parties)
        check_step(step)
        check_payload(payload)
        self._call({"call": "send", "to": to, "step": step}, payload)

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        """As `Channel.receive`."""
        check_peer(sender, self.party, self.parties)
        check_step(step)
        if timeout_s is not None:
            check_timeout(timeout_s)
        return self._call({"call": "receive", "sender": sender, "step": step, "timeout_s": timeout_s})

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
        self._connection.close()

    def __repr__(self) -> str:
        return f"RelayChannel({self.party!r} of {', '.join(self.parties)})"

    def _call(self, header: Mapping[str, Any], payload: bytes = b"") -> bytes:
        try:
            send_frame(self._connection, header, payload)
            frame = receive_frame(self._connection)
        except BaseException as error:
            # A call that was cut short (Ctrl-C) leaves half a frame on the way: nothing more can be said on it.
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
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
def join_relay(path: Path, request: JoinRequest) -> Iterator[RelayChannel]:
    """The channel of one role, once every role of the run has joined; the relay is told how the block ended.

    Raises:
        ChannelError: no relay is there, or it ended before the run began.
        JobError: the job names no such role; the relay has another job or release.
        PolicyError: another process plays the role.
        ChannelTimeoutError: other roles never came; names them.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        channel = RelayChannel(connection, request.role, _ask_to_join(connection, path, request))
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
    send_frame(connection, {"role": request.role, "job_digest": request.job_digest, "release": request.release})
    header = receive_frame(connection).header
    _raise_told(header)
    return RunTerms.from_header(header)


def _raise_told(header: Mapping[str, Any]) -> None:
    told = header.get("error")
    if isinstance(told, dict):
        raise decode_error(told)
