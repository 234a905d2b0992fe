"""Carries the messages of roles that run in processes of their own, over a Unix socket of this machine.

Behind the socket stands the hub that serves roles in one process: how roles wait for each other, time-outs, dropouts
and stops are the same. A process that ends without having finished its role is a dropout, or ends the run where its
role may not drop out.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Self

from hekat.channel import InProcessHub
from hekat.channel.in_process import HEAR_EVERY_S
from hekat.errors import ChannelTimeoutError, HekatError, PartyLostError, PolicyError, StateError
from hekat.launch.frames import receive_frame, send_frame
from hekat.launch.local.connection import RoleConnection
from hekat.launch.local.terms import JoinRequest, RunTerms
from hekat.launch.local.told_errors import encode_error
from hekat.launch.unix_socket import bind_private

_HANDSHAKE_S = 10.0
# Roles whose calls wait are told of Ctrl-C at once; a process that was stopped, or computes, hears of it later.
_TOLD_WITHIN_S = 2.0
# A process that computes says so all the time: one that was stopped says nothing.
SILENT_FOR_S = 600.0


class LocalRelay:
    """Serves one run at the socket `path`, which it makes (mode 600) and removes.

    A `with` block holds the socket open; `serve` plays the run's relay in it.
    """

    def __init__(
        self,
        path: Path,
        terms: RunTerms,
        job_digest: bytes,
        *,
        timeout_s: float,
        join_timeout_s: float | None = None,
        silence_s: float | None = None,
        may_drop_out: Collection[str] = (),
    ) -> None:
        """`timeout_s` is the time of one wait, `join_timeout_s` that in which every role must join (None: the same).

        If the relay hears no role for `silence_s` (None: `timeout_s`, and ten minutes at least) while no call waits, it
        takes every role that still plays for lost: a process that was stopped holds nobody up for good.

        Raises InputError where the path is too long for a socket, StateError where it cannot be made.
        """
        self.terms = terms
        self._path, self._join_timeout_s = path, join_timeout_s or timeout_s
        self._silence_s = silence_s or max(timeout_s, SILENT_FOR_S)
        self._mine = JoinRequest.of("the relay", job_digest)
        self._hub = InProcessHub(terms.roles, timeout_s, may_be_lost=frozenset(may_drop_out))
        self._joined: dict[str, RoleConnection] = {}
        self._refusal: HekatError | None = None
        self._changed = Condition()
        self._listener = _listen_at(path)

    def serve(
        self,
        on_dropout: Callable[[PartyLostError], None] | None = None,
        on_begin: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait for every role, then carry their messages until all have finished.

        `on_begin` is called once every role is there, `on_dropout` as by `run_parties`.

        Raises:
            ChannelTimeoutError: roles that did not join in time; names them.
            PartyStoppedError, PartyLostError, ChannelError: as `run_parties`.
            Whatever `abandon` was given.
        """
        Thread(target=self._accept, name="hekat-relay", daemon=True).start()
        connections = self._wait_until_all_joined()
        for role, connection in connections.items():
            connection.begin(self._hub, role, self.terms)
        on_begin()
        is_over = Event()
        Thread(target=self._give_up_on_silent, args=(connections.values(), is_over), daemon=True).start()
        try:
            self._hub.wait_until_all_finished(on_dropout)
        except BaseException as error:
            self._hub.stop("the relay", error)
            deadline = time.monotonic() + _TOLD_WITHIN_S
            for connection in connections.values():
                connection.join(deadline)
                connection.close()
            raise
        finally:
            for connection in connections.values():
                connection.join()
            is_over.set()
        self._hub.raise_first_failure()

    def abandon(self, error: HekatError) -> None:
        """End the wait for roles that have not joined yet with `error`; without effect once the run has begun."""
        with self._changed:
            self._refusal = self._refusal or error
            self._changed.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # A blocked accept ends with shutdown, and not with close alone.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._path.unlink(missing_ok=True)
        with self._changed:
            joined = list(self._joined.values())
        for connection in joined:
            # It is forgotten as it goes.
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            Thread(target=self._admit, args=(connection,), name="hekat-join", daemon=True).start()

    def _admit(self, connection: socket.socket) -> None:
        """Let a role in, or tell it why not."""
        connection.settimeout(_HANDSHAKE_S)
        try:
            frame = receive_frame(connection)
            request = JoinRequest(*(frame.take(name, str) for name in ("role", "job_digest", "release")))
            request.check_fits(self._mine, self.terms.roles)
            connection.settimeout(None)
            _limit_sending(connection, self._silence_s)
            with self._changed:
                if self._refusal is not None:
                    raise self._refusal
                if request.role in self._joined:
                    raise _played_twice(request.role)
                self._joined[request.role] = RoleConnection(connection, on_gone=self._forget)
                self._changed.notify_all()
        except HekatError as error:
            _refuse(connection, error)

    def _forget(self, gone: RoleConnection) -> None:
        """A role that left before the run began may join again."""
        with self._changed:
            for role in [role for role, connection in self._joined.items() if connection is gone]:
                del self._joined[role]

    def _give_up_on_silent(self, connections: Collection[RoleConnection], is_over: Event) -> None:
        while not is_over.wait(HEAR_EVERY_S):
            playing = [connection for connection in connections if connection.is_served]
            if playing and min(connection.silent_s for connection in playing) >= self._silence_s:
                for connection in playing:
                    connection.give_up()

    def _wait_until_all_joined(self) -> dict[str, RoleConnection]:
        deadline = time.monotonic() + self._join_timeout_s
        with self._changed:
            while len(self._joined) < len(self.terms.roles) and self._refusal is None:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    self._refusal = self._missing_error()
                    break
                # In parts that end, so that Ctrl-C is heard.
                self._changed.wait(min(left_s, HEAR_EVERY_S))
            refusal = self._refusal
            connections = dict(self._joined)
        if refusal is not None:
            for connection in connections.values():
                connection.refuse(refusal)
            raise refusal
        return connections

    def _missing_error(self) -> ChannelTimeoutError:
        missing = [role for role in self.terms.roles if role not in self._joined]
        return ChannelTimeoutError(
            f"not every role came: no {' and no '.join(missing)}",
            expected=f"{', '.join(self.terms.roles)} within {self._join_timeout_s:g} s",
            got=", ".join(self._joined) or "nobody",
            cure=f"start: {'; '.join(f'hekat run JOB --role {role} --relay {self._path}' for role in missing)}"
            "; of a joint prediction: hekat predict RUN with the same options",
        )


def _listen_at(path: Path) -> socket.socket:
    try:
        listener = bind_private(path)
        try:
            listener.listen()
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise StateError(
            f"no relay can be served at {path}",
            expected="a path that is free, in a folder that can be written to",
            got=error.strerror or type(error).__name__,
            cure="choose another path; if an earlier relay was killed, remove its socket",
        ) from error
    return listener


def _limit_sending(connection: socket.socket, limit_s: float) -> None:
    """Let no send wait for longer for a role that takes nothing; receiving, which shares Python's limit, has none."""
    connection.setsockopt(
        socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(limit_s), int(limit_s % 1 * 1e6))
    )


def _refuse(connection: socket.socket, error: HekatError) -> None:
    with suppress(HekatError):
        send_frame(connection, {"error": encode_error(error)})
    connection.close()


def _played_twice(role: str) -> PolicyError:
    return PolicyError(
        f"role {role!r} is played already",
        expected="one process for each role",
        got=f"a second one for {role!r}",
        cure="end the first, or give this one another role",
    )
