"""A message to many parties is encoded once, and each of them gets and records the same bytes."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.channel import PartyKey
from hekat.ledger import Ledger, RecordedChannel, recorded_channel
from hekat.ledger.chain import verify_ledger
from hekat.wire import message, public, to_bytes


@message("ledger-tests/to-all", version=1)
@dataclass(frozen=True)
class ToAll:
    number: int = public()


class Line:
    party, parties = "hub", ("hub", "a", "b", "c")

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        self.sent.append((to, payload))


def test_it_is_encoded_once_for_all_and_anew_for_the_next(monkeypatch) -> None:
    encoded: list[object] = []
    monkeypatch.setattr(recorded_channel, "to_bytes", lambda message: (encoded.append(message), to_bytes(message))[1])
    key, line = PartyKey.generate(), Line()
    first, other = ToAll(1), ToAll(2)
    with Ledger(None, "hub", key, bytes(32)) as ledger:
        channel = RecordedChannel(line, ledger)
        with channel.encoding_once(first):
            for party in "abc":
                channel.send(party, "start", first)
            channel.send("a", "start", other)
        channel.send("b", "start", first)
    assert encoded == [first, other, first]
    assert line.sent == [*((name, to_bytes(first)) for name in "abc"), ("a", to_bytes(other)), ("b", to_bytes(first))]
    digests = [e.payload_sha256 for e in verify_ledger(ledger.data, key.public).entries if e.direction == "sent"]
    assert len(digests) == 5
    assert len(set(digests)) == 2
