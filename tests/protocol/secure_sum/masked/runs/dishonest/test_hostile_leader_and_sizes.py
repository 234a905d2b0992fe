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
        ("committee", {"release_key": b""}),
        ("committee", {"release_key": bytes(31)}),
        ("authority", {"release_key": bytes(16)}),
        ("authority", {"shared_key": bytes(32)}),
        ("shared", {"release_key": bytes(32)}),
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


def test_a_party_with_another_key_of_releases_than_most_is_given_up_before_anything_is_opened(play) -> None:
    def changed(to, step, message):
        if isinstance(message, RunSecretsMessage) and to == "d":
            return replace(message, release_key=bytes(range(32)))
        return None

    rehearsal, _, error = play(changed, role="a")
    assert error is None
    assert rehearsal.lost_names == ["d"]
    assert "or with another model, mask, bounds or counters than most" in rehearsal.reasons
    assert [record.party_count for record in rehearsal.records] == [4]


@pytest.mark.parametrize("key", ["digest_key", "shared_key"])
def test_an_authority_takes_no_other_secret_of_the_parties(key, play, masked_settings) -> None:
    def changed(to, step, message):
        told = isinstance(message, RunSecretsMessage) and to == "notary"
        return replace(message, **{key: bytes(range(32))}) if told else None

    rehearsal, _, error = play(changed, role="a", settings=masked_settings(5, "authority"))
    assert isinstance(error.__cause__, KeyRefusedError)
    assert error.party == "notary"
    assert rehearsal.records == []


def test_a_leader_that_gives_the_authority_another_key_of_releases_is_named_beside_it(play, masked_settings) -> None:
    def changed(to, step, message):
        told = isinstance(message, RunSecretsMessage) and to == "notary"
        return replace(message, release_key=bytes(range(32))) if told else None

    rehearsal, _, error = play(changed, role="a", settings=masked_settings(5, "authority"))
    assert "does not open" in str(error)
    assert "find out what runs at notary, and at a, which gave notary the key of its releases" in str(error)
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
