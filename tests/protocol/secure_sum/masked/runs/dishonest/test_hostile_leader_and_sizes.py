"""A leader that gives out keys that can be guessed, and parties that together announce more than they have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.errors import KeyRefusedError
from hekat.protocol.secure_sum.masked import aggregator as masked_aggregator
from hekat.protocol.secure_sum.masked.messages import (
    RunSecretsMessage,
    UploadMessage,
)
from hekat.scheme.lattice import Accumulator

ALL = tuple("abcde")


@pytest.mark.parametrize(
    ("opening", "changes"),
    [
        ("committee", {"digest_key": b""}),
        ("committee", {"digest_key": bytes(31)}),
        ("committee", {"shared_key": bytes(32)}),
        ("shared", {"shared_key": b""}),
        ("shared", {"shared_key": bytes(16)}),
    ],
)
def test_parties_refuse_keys_that_the_aggregator_could_guess(opening, changes, play, masked_settings) -> None:
    def changed(to, step, message):
        return replace(message, **changes) if isinstance(message, RunSecretsMessage) else None

    rehearsal, _, error = play(changed, role="a", settings=masked_settings(5, opening))
    assert isinstance(error.__cause__, KeyRefusedError)
    assert "a sent no" in str(error)
    assert rehearsal.records == []


def test_the_attack_all_parties_together_make_the_aggregator_take_memory(monkeypatch, rehearse_masked, meddle) -> None:
    """As long as they agreed on a size, an accumulator of it was made: 2^33 lanes took 16 GiB and more."""
    taken: list[int] = []

    def accumulator(parameters, slot_count):
        taken.append(slot_count)
        return Accumulator(parameters, slot_count)

    monkeypatch.setattr(masked_aggregator, "Accumulator", accumulator)

    def larger(to, step, message):
        changed = replace(message, lane_count=1 << 33) if isinstance(message, UploadMessage) else message
        return [(step, changed)]

    rehearsal = rehearse_masked(meddlers={name: meddle(larger) for name in ALL}, exactness_check=False)
    with pytest.raises(Exception, match="too few parties are left"):
        rehearsal.run()
    assert taken == []
    assert "announced tensors do not give" in rehearsal.reasons

    rehearse_masked(exactness_check=False).run()
    assert len(taken) == 1
    assert taken[0] < 1 << 16
