"""Keys of another length than 32 bytes, from a leader that wants the aggregator to guess them, are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.protocol.horizontal.rehearsal import Rehearsal

from hekat.errors import KeyRefusedError, PartyStoppedError
from hekat.protocol.secure_sum.paillier.messages import SharedSecretsMessage
from hekat.protocol.secure_sum.run_keys import check_run_key, draw_run_key

from .conftest import make_settings, make_tables


def refused_by_others(rehearsal) -> KeyRefusedError:
    with pytest.raises(PartyStoppedError) as stopped:
        rehearsal.run()
    assert isinstance(stopped.value.__cause__, KeyRefusedError), stopped.value
    return stopped.value.__cause__


class Sends:
    """A leader's channel that gives another key away than the leader keeps."""

    def __init__(self, channel, message_type, **changes) -> None:
        self._channel, self._message_type, self._changes = channel, message_type, changes

    def __getattr__(self, name):
        return getattr(self._channel, name)

    def send(self, to, step, message):
        changed = replace(message, **self._changes) if isinstance(message, self._message_type) else message
        return self._channel.send(to, step, changed)


class LyingLeader(Rehearsal):
    changes: tuple = ()

    def _play(self, name, channel):
        is_leader = name == self.settings.leader
        return super()._play(name, Sends(channel, self.changes[0], **self.changes[1]) if is_leader else channel)


@pytest.mark.parametrize("key", [b"", b"k", bytes(31), bytes(33)], ids=len)
def test_a_digest_key_that_can_be_guessed_is_refused_under_paillier(key, rehearse) -> None:
    rehearsal = rehearse(make_settings(), make_tables(3), exactness_check=False)
    rehearsal.__class__ = LyingLeader
    rehearsal.changes = (SharedSecretsMessage, {"digest_key": key})
    assert f"{len(key)} bytes" in str(refused_by_others(rehearsal))


def test_drawn_keys_are_fresh_and_taken() -> None:
    settings = make_settings()
    drawn = {draw_run_key() for _ in range(8)}
    assert len(drawn) == 8
    assert all(check_run_key(key, "digest key", settings) == key for key in drawn)
    assert check_run_key(b"", "shared key", settings, wanted=False) == b""
    with pytest.raises(KeyRefusedError, match="expected 0 bytes"):
        check_run_key(drawn.pop(), "shared key", settings, wanted=False)
