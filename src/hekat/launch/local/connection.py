"""The relay's end of one role's connection: reads its calls, makes them at the hub, and answers."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from hekat.channel import InProcessHub
from hekat.channel.departure import FailureElsewhereError
from hekat.channel.in_process import HEAR_EVERY_S
from hekat.errors import ChannelError, HekatError, InputError, PartyLostError, PartyStoppedError
from hekat.launch.frames import ALIVE, ConnectionEndedError, Frame, receive_frame, send_frame
from hekat.launch.local.terms import RunTerms
from hekat.launch.local.told_errors import decode_error, decode_notice, encode_error

PROCESS_ENDED = "its process ended"
PROCESS_SILENT = "its process said nothing"


class RoleConnection:
    """One role's process, from its admission on. Two threads serve it: one reads, so that an end of the process is
    heard while a call of it still waits at the hub; the other makes the calls."""

    def __init__(self, connection: socket.socket, on_gone: Callable[[RoleConnection], None]) -> None:
        """`on_gone` is called where the process ends before the run begins."""
        self._connection, self._on_gone = connection, on_gone
        self._frames: SimpleQueue[Frame | None] = SimpleQueue()
        self._hub: InProcessHub | None = None
        self._role = ""
        self._is_over = False
        # The parties whose end the relay told it: it may name no other as the reason of its own end.
        self._told: set[str] = set()
        self._heard_s = time.monotonic()
        self._is_calling = False
        self._answer_count = 0
        self._state = Lock()
        self._reader = Thread(target=self._read, name="hekat-read", daemon=True)
        self._caller = Thread(target=self._make_calls, name="hekat-call", daemon=True)
        self._reader.start()

    def begin(self, hub: InProcessHub, role: str, terms: RunTerms) -> None:
        """Tell the role that everybody is there, and serve its calls as the end of `role`."""
        with self._state:
            self._hub, self._role = hub, role
            is_gone = self._is_over
        if is_gone:
            hub.fail(role, FailureElsewhereError(PROCESS_ENDED))
        with suppress(ChannelError):
            send_frame(self._connection, terms.to_header())
        self._caller.start()

    def refuse(self, error: HekatError) -> None:
        """Tell the role that the run does not begin, and why."""
        with suppress(ChannelError):
            send_frame(self._connection, {"error": encode_error(error)})
        self.close()

    @property
    def silent_s(self) -> float:
        """For how long nothing was heard of the role, while no call of it waits here."""
        return 0.0 if self._is_calling else time.monotonic() - self._heard_s

    @property
    def is_served(self) -> bool:
        """Whether the role's last call is not answered yet."""
        return self._caller.is_alive()

    def give_up(self) -> None:
        """Take the role for lost, as one whose process ended."""
        with self._state:
            hub, is_over, self._is_over = self._hub, self._is_over, True
        if hub is not None and not is_over:
            hub.fail(self._role, FailureElsewhereError(PROCESS_SILENT))
        self.close()

    def join(self, deadline: float = math.inf) -> None:
        """Wait until the role's last call is answered, or the monotonic clock shows `deadline`."""
        while self._caller.is_alive() and time.monotonic() < deadline:
            self._caller.join(HEAR_EVERY_S)

    def close(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _read(self) -> None:
        read_count = 0
        try:
            while True:
                frame = receive_frame(self._connection)
                self._heard_s = time.monotonic()
                if frame.header == ALIVE and not frame.payload:
                    continue
                read_count += 1
                # One call at a time: a role that sends more than is answered would fill the relay's memory.
                if self._hub is None or read_count > self._answer_count + 1:
                    raise ChannelError("a call that nobody asked for")
                self._frames.put(frame)
        except ChannelError as error:
            kind = PROCESS_ENDED if isinstance(error, ConnectionEndedError) else "its process sent no frames"
            with self._state:
                hub, is_over, self._is_over = self._hub, self._is_over, True
            if hub is None:
                self._on_gone(self)
            elif not is_over:
                hub.fail(self._role, FailureElsewhereError(kind))
            self._frames.put(None)
            if kind != PROCESS_ENDED:
                self.close()

    def _make_calls(self) -> None:
        while (frame := self._frames.get()) is not None:
            header: dict[str, Any] = {"answer": True}
            payload = b""
            self._is_calling = True
            try:
                payload = self._make_call(frame)
            except HekatError as error:
                if isinstance(error, PartyStoppedError | PartyLostError):
                    self._told.add(error.party)
                header = {"error": encode_error(error)}
            except Exception:
                # Such as a time-out beyond what a clock takes: no release of ours sends it.
                header = {"error": encode_error(ChannelError("the relay cannot make this call"))}
            self._answer_count += 1
            try:
                send_frame(self._connection, header, payload)
            except ChannelError:
                # It takes no answer: the reader is to hear the end of the connection, too.
                self.close()
                return
            finally:
                self._heard_s, self._is_calling = time.monotonic(), False
            if self._is_over:
                return

    def _make_call(self, frame: Frame) -> bytes:
        hub, role = self._hub, self._role
        assert hub is not None  # calls are made once the run has begun
        call = frame.take("call", str)
        if call == "receive":
            return hub.receive(role, frame.take("sender", str), frame.take("step", str), _seconds_of(frame))
        if call == "send":
            hub.send(role, frame.take("to", str), frame.take("step", str), frame.payload, _seconds_of(frame))
        elif call == "note_saved":
            hub.note_saved(role, frame.take("what", str))
        elif call == "leave":
            hub.leave(role, decode_notice(frame.take("notice", dict)))
        elif call == "expel":
            notice = frame.header.get("notice")
            hub.expel(
                role,
                frame.take("party", str),
                frame.take("reason", str),
                None if notice is None else decode_notice(notice),
            )
        elif call in ("finish", "fail"):
            failure = None if call == "finish" else self._failure_of(frame)
            with self._state:
                self._is_over = True
            if failure is None:
                hub.finish(role)
            else:
                hub.fail(role, failure)
        else:
            raise InputError("no such call of a relay", expected="send, receive, expel, ...", got=repr(call[:32]))
        return b""

    def _failure_of(self, frame: Frame) -> HekatError:
        """What the role raised: what it was only told of another party's end keeps that party's name."""
        told = frame.header.get("told")
        if isinstance(told, dict):
            error = decode_error(told)
            if isinstance(error, PartyStoppedError) and error.party in self._told:
                return error
        return FailureElsewhereError(frame.take("kind", str), ends_run=bool(frame.header.get("ends_run")))


def _seconds_of(frame: Frame) -> float | None:
    """The time of the call; None where it gives none."""
    timeout_s = frame.header.get("timeout_s")
    return float(timeout_s) if isinstance(timeout_s, float | int) else None
