"""Whole intersections in this process: every role with its sealed channel and ledger, or a stand-in in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from hekat.channel import PartyKey, run_parties
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions
from hekat.protocol.psi.ids import Ids
from hekat.protocol.psi.roles import Intersection, IntersectionRun, run_intersection
from hekat.protocol.psi.settings import IntersectionSettings

PARTY_KEYS = {name: PartyKey.generate() for name in ("guest", "bank", "shop", "clinic")}


class Listening:
    """A role's channel that notes what it receives, and may alter what it sends."""

    def __init__(self, channel: RecordedChannel, change: Callable[[Any], Any] = lambda message: message) -> None:
        self._channel, self._change = channel, change
        self.session = channel.session_id
        self.received: list[tuple[str, str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def send(self, to: str, step: str, message: Any) -> bytes:
        return self._channel.send(to, step, self._change(message))

    def receive(self, sender: str, step: str, message_type: type, timeout_s: float | None = None) -> Any:
        message = self._channel.receive(sender, step, message_type, timeout_s=timeout_s)
        self.received.append((sender, step, message))
        return message

    def of(self, message_type: type) -> list[Any]:
        return [message for _, _, message in self.received if isinstance(message, message_type)]


@dataclass
class Played:
    """What every party learnt, heard, wrote into its ledger and reported of its progress."""

    results: dict[str, Intersection]
    channels: dict[str, Listening]
    ledgers: dict[str, str]
    progress: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)


@pytest.fixture(scope="session")
def intersect(rsa_keys) -> Callable[..., Played]:
    """Plays an intersection of the ids of every party; `change` alters what the party of that name sends.

    Unless `own_keys`, the signer has the stored key of the job's size.
    """

    def play(
        ids: Mapping[str, Ids],
        settings: IntersectionSettings,
        change: Mapping[str, Callable[[Any], Any]] | None = None,
        stand_ins: Mapping[str, Callable[[RecordedChannel], Any]] | None = None,
        own_keys: bool = False,
    ) -> Played:
        sessions = make_sessions(
            {name: PARTY_KEYS[name] for name in settings.parties}, run_id="test", protocol="psi", job_digest=bytes(32)
        )
        played = Played({}, {}, {}, {name: [] for name in settings.parties})

        def role(recorded: RecordedChannel) -> Intersection:
            name = recorded.party
            channel = played.channels[name] = Listening(recorded, (change or {}).get(name, lambda message: message))
            try:
                if stand_ins and name in stand_ins:
                    return stand_ins[name](channel)
                run = IntersectionRun(
                    sessions[name].stopwatch,
                    progress=lambda *what: played.progress[name].append(what),
                    key_pair=None if own_keys else rsa_keys(settings.key_bits),
                )
                return run_intersection(channel, ids[name], settings, run)
            finally:
                played.ledgers[name] = recorded.ledger.data.decode()

        played.results = run_parties(
            {name: partial(session.play, role=role) for name, session in sessions.items()}, timeout_s=60.0
        )
        return played

    return play
