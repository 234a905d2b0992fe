"""Relays of tests, and roles that join them in threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from hekat.channel import Channel
from hekat.launch.local import JoinRequest, LocalRelay, RunTerms, join_relay

JOB = bytes(range(32))
Role = Callable[[Channel], object]


@contextmanager
def relay_at(path: Path, roles: Collection[str], timeout_s: float = 20.0, **settings) -> Iterator[LocalRelay]:
    with LocalRelay(path, RunTerms("run-1", tuple(roles)), JOB, timeout_s=timeout_s, **settings) as relay:
        yield relay


def join(path: Path, role: str, *, timeout_s: float = 20.0, **changes: str):
    return join_relay(path, JoinRequest(**({**vars(JoinRequest.of(role, JOB)), **changes})), timeout_s=timeout_s)


def play(path: Path, role: str, body: Role) -> object:
    with join(path, role) as channel:
        return body(channel)


def serving(relay: LocalRelay) -> list[BaseException]:
    """The relay's end is put into the list that is returned."""
    ends: list[BaseException] = []

    def serve() -> None:
        try:
            relay.serve()
        except BaseException as error:
            ends.append(error)

    Thread(target=serve, daemon=True).start()
    return ends
