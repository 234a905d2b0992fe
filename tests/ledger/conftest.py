"""One recorded run of two parties, its ledgers in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from hekat.channel import Channel, PartyKey, SealedChannel, run_parties
from hekat.ledger import Ledger, RecordedChannel
from hekat.wire import Disclosure, ciphertext, disclosed, message, public, sealed


@message("ledger-tests/update", version=1)
@dataclass(frozen=True)
class UpdateMessage:
    values: bytes = ciphertext(under="all parties")
    round_number: int = public()


@message("ledger-tests/mean", version=1)
@dataclass(frozen=True)
class MeanMessage:
    mean: npt.NDArray[np.float64] = disclosed("the mean of the updates")
    names: list[str] = public()


@message("ledger-tests/key", version=1)
@dataclass(frozen=True)
class KeyMessage:
    private_key: bytes = sealed("the key that all parties share")


@dataclass(frozen=True)
class Run:
    keys: dict[str, PartyKey]
    data: dict[str, bytes]


SECRET = b"\xc3SECRET-CONTENT\xc3"


def play(channel: Channel, keys: dict[str, PartyKey], rounds: int) -> bytes:
    pinned = {name: key.public for name, key in keys.items()}
    with SealedChannel(
        channel, keys[channel.party], pinned, run_id="run-1", protocol="test", job_digest=bytes(32)
    ) as sealed_channel:
        session_id = sealed_channel.open_session()
        ledger = Ledger(None, channel.party, keys[channel.party], session_id, run_id="run-1", protocol="test")
        with ledger:
            recorded = RecordedChannel(sealed_channel, ledger)
            if channel.party == "server":
                recorded.receive("client", "key", KeyMessage)
            else:
                recorded.send("server", "key", KeyMessage(SECRET))
            for number in range(rounds):
                step = f"round-{number}"
                if channel.party == "server":
                    recorded.receive("client", f"{step}/update", UpdateMessage)
                    recorded.send("client", f"{step}/mean", MeanMessage(np.arange(3.0), ["a", "bc"]))
                else:
                    recorded.send("server", f"{step}/update", UpdateMessage(SECRET, number))
                    mean = recorded.receive("server", f"{step}/mean", MeanMessage)
                    np.testing.assert_array_equal(mean.mean, np.arange(3.0))
            ledger.note("end", "the model is public", Disclosure("disclosed", "the model"))
        return ledger.data


@pytest.fixture(scope="session")
def run() -> Run:
    keys = {name: PartyKey.generate() for name in ("client", "server")}
    roles = dict.fromkeys(keys, lambda channel: play(channel, keys, rounds=3))
    return Run(keys, run_parties(roles, timeout_s=20))


@pytest.fixture
def message_types() -> dict[str, type]:
    return {"update": UpdateMessage, "mean": MeanMessage, "key": KeyMessage}
