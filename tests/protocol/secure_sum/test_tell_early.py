"""What the leader tells along with its confirmation of a session: nothing that another one uses, and all recorded."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from tests.channel.test_session import Relay

from hekat.channel import InProcessHub, PartyKey
from hekat.channel.sealing import CONFIRM_STEP
from hekat.errors import ChannelError
from hekat.ledger import RecordedChannel
from hekat.protocol.role_session import RoleSession, SessionTerms
from hekat.protocol.secure_sum.run_keys import RUN_KEY_BYTES
from hekat.protocol.secure_sum.settings import Opening, Protection, SumSettings
from hekat.protocol.secure_sum.start_up import tell_early

pytestmark = pytest.mark.sealed
LIMIT_S = 60.0
PARTIES = ("north", "south", "west")


def settings_of(protection: Protection, opening: Opening = "committee") -> SumSettings:
    authority = "keeper" if opening == "authority" else None
    return SumSettings(PARTIES, "hub", 100, protection, opening, authority, key_bits=2048)


class Roles:
    """The sessions of all roles. West's confirmations may be altered on the way, once the leader has told secrets."""

    def __init__(self, settings: SumSettings, *, altered: bool = False) -> None:
        keys = {name: PartyKey.generate() for name in settings.everyone}
        terms = SessionTerms("run-1", "test", bytes(range(32)), {name: key.public for name, key in keys.items()})
        self.settings, self.altered = settings, altered
        self.sessions = {name: RoleSession(terms, key) for name, key in keys.items()}
        self.hub = InProcessHub(tuple(keys), timeout_s=20)
        self.told: dict[str, object] = {}
        self.ends: dict[str, object] = {}
        self.has_told = Event()

    def play(self) -> None:
        with ThreadPoolExecutor(len(self.sessions)) as pool:
            list(pool.map(self._play_one, self.sessions))

    def sent_by(self, name: str) -> list[tuple[str, str]]:
        ledger = self.sessions[name].ledger
        assert ledger is not None
        lines = [json.loads(line) for line in ledger.data.splitlines()]
        return [(line["peer"], line["step"]) for line in lines if line.get("direction") == "sent"]

    def _play_one(self, name: str) -> None:
        def tell(recorded: RecordedChannel) -> None:
            self.told[name] = tell_early(recorded, self.settings)
            if name == self.settings.leader:
                self.has_told.set()

        def alter(to: str, step: str, payload: bytes) -> bytes:
            if not (self.altered and step == CONFIRM_STEP and name == "west"):
                return payload
            self.has_told.wait(LIMIT_S)
            return bytes(len(payload))

        channel = Relay(self.hub.channel(name), alter)
        try:
            self.ends[name] = self.sessions[name].play(channel, lambda recorded: "played", tell)
        except ChannelError as error:
            self.ends[name] = error
            self.hub.stop(name, error)


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_the_leader_gives_all_others_the_secrets_of_the_run_and_the_aggregator_none(opening: Opening) -> None:
    roles = Roles(settings_of("lattice", opening))
    roles.play()
    told = roles.told.pop("north")
    assert set(roles.told.values()) == {None}
    assert len(told.digest_key) == RUN_KEY_BYTES
    assert len(told.shared_key) == (RUN_KEY_BYTES if opening == "shared" else 0)
    assert len(told.release_key) == (0 if opening == "shared" else RUN_KEY_BYTES)
    receivers = ["south", "west", *(["keeper"] if opening == "authority" else [])]
    assert roles.sent_by("north") == [(name, "run-secrets") for name in receivers]


@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_a_key_that_may_outlive_the_session_waits_for_its_confirmation(protection: Protection) -> None:
    roles = Roles(settings_of(protection))
    roles.play()
    assert set(roles.told.values()) == {None}
    assert all(roles.sent_by(name) == [] for name in roles.sessions)


def test_two_sessions_have_other_secrets() -> None:
    found = []
    for _ in range(2):
        roles = Roles(settings_of("lattice", "shared"))
        roles.play()
        found.append(roles.told["north"])
    first, second = found
    assert len({first.digest_key, second.digest_key, first.shared_key, second.shared_key}) == 4


def test_a_ledger_has_what_left_before_a_session_that_never_opened() -> None:
    roles = Roles(settings_of("lattice"), altered=True)
    roles.play()
    assert isinstance(roles.ends["north"], ChannelError)
    assert roles.sent_by("north") == [(name, "run-secrets") for name in ("south", "west")]
