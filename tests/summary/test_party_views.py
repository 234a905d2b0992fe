"""What every role's ledger says that it learned, as a summary holds it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hekat.channel import PartyKey
from hekat.errors import LedgerError
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.summary.party_views import views_of_parties
from hekat.wire import ciphertext, disclosed, message, public


@message("test-party-views/told", version=1)
@dataclass(frozen=True)
class Told:
    answer: str = disclosed("how old the record is")
    hidden: bytes = ciphertext(under="the other's key")
    size: int = public()


@pytest.fixture
def keys(tmp_path) -> dict[str, PartyKey]:
    """Two roles that exchanged messages in four rounds; one noted what it learned."""
    keys = {name: PartyKey.generate() for name in ("ann", "bob")}
    (tmp_path / LEDGER_FOLDER).mkdir()
    sessions = make_sessions(
        keys, run_id="run", protocol="test", job_digest=bytes(32), ledger_folder=tmp_path / LEDGER_FOLDER
    )

    def ann(channel) -> None:
        for number in range(4):
            channel.send("bob", f"round-{number}/told", Told("old", b"x", 1))

    def bob(channel) -> None:
        for number in range(4):
            channel.receive("ann", f"round-{number}/told", Told)
            channel.ledger.note(f"round-{number}/told", "the mean age", "disclosed")

    play_in_process({"ann": lambda c: sessions["ann"].play(c, ann), "bob": lambda c: sessions["bob"].play(c, bob)})
    return keys


def test_each_role_has_what_it_was_sent_and_noted(tmp_path, keys) -> None:
    ann, bob = views_of_parties(tmp_path, {name: key.public for name, key in keys.items()})
    assert (ann["party"], ann["learned"], ann["noted"]) == ("ann", [], [])
    assert bob["learned"] == [
        {"how": "disclosed", "step": "round-*/told", "peers": ["ann"], "what": "how old the record is"},
        {"how": "ciphertext", "step": "round-*/told", "peers": ["ann"], "what": "the other's key"},
        {"how": "public", "step": "round-*/told", "peers": ["ann"], "what": ""},
    ]
    assert bob["noted"] == [{"how": "disclosed", "step": "round-*/told", "what": "the mean age", "times": 4}]


def test_a_changed_ledger_is_refused(tmp_path, keys) -> None:
    path = tmp_path / LEDGER_FOLDER / "bob.jsonl"
    path.write_text(path.read_text().replace("the mean age", "nothing", 1))
    with pytest.raises(LedgerError):
        views_of_parties(tmp_path, {name: key.public for name, key in keys.items()})
