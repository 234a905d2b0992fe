"""Three parties with open sessions over one hub, and the raw ends under them for a man in the middle."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from hekat.channel import InProcessChannel, InProcessHub, PartyKey, SealedChannel

PARTIES = ("a", "b", "c")
JOB_DIGEST = bytes(range(32))


@dataclass
class Trio:
    """`raw` are the hub's ends: what the relay sees and may change."""

    keys: dict[str, PartyKey]
    raw: dict[str, InProcessChannel]
    sealed: dict[str, SealedChannel]

    def take(self, sender: str, receiver: str, step: str) -> bytes:
        """What lies on the way, removed."""
        return self.raw[receiver].receive(sender, step)

    def put(self, sender: str, receiver: str, step: str, data: bytes) -> None:
        self.raw[sender].send(receiver, step, data)

    def sent(self, sender: str, receiver: str, step: str, payload: bytes) -> bytes:
        """The sealed bytes of a payload, caught on the way."""
        self.sealed[sender].send(receiver, step, payload)
        return self.take(sender, receiver, step)


@pytest.fixture(scope="session")
def party_keys() -> dict[str, PartyKey]:
    return {name: PartyKey.generate() for name in PARTIES}


@pytest.fixture
def make_trio(party_keys: dict[str, PartyKey]) -> Callable[..., Trio]:
    """Makes a trio; `wrap(party, end)` may put something between a party and the hub, `changes` overrides by party."""

    def make(
        *,
        wrap=lambda party, end: end,
        open_sessions: bool = True,
        may_be_lost: frozenset[str] = frozenset(),
        **changes,
    ) -> Trio:
        hub = InProcessHub(PARTIES, timeout_s=20, may_be_lost=may_be_lost)
        raw = {name: hub.channel(name) for name in PARTIES}
        pinned = {name: key.public for name, key in party_keys.items()}
        settings = {"run_id": "run-1", "protocol": "test", "job_digest": JOB_DIGEST, "chunk_bytes": 64}
        sealed = {
            name: SealedChannel(wrap(name, raw[name]), party_keys[name], pinned, **(settings | changes.get(name, {})))
            for name in PARTIES
        }
        if open_sessions:
            with ThreadPoolExecutor(3) as pool:
                assert len(set(pool.map(lambda channel: channel.open_session(), sealed.values()))) == 1
        return Trio(party_keys, raw, sealed)

    return make


@pytest.fixture
def trio(make_trio: Callable[..., Trio]) -> Trio:
    return make_trio()
