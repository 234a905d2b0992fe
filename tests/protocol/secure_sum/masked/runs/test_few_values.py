"""Sums of few values are in the smaller ring with a committee, from the first round on, and of many in the larger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.protocol.horizontal.settings import ModelSettings
from hekat.protocol.secure_sum.masked.messages import BeginMessage, DealtMessage
from hekat.protocol.secure_sum.settings import CodecSettings

# At so many bits a value, of five parties, the larger ring packs many values best.
CODEC = CodecSettings(value_bits=24)
HIDDEN = {"few": (), "many": (3000,)}


@pytest.mark.quick_cases("many-shared", "few-committee", "few-authority")
@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
@pytest.mark.parametrize("values", HIDDEN)
def test_the_ring_follows_from_the_values_of_an_update(values, opening, play, masked_settings) -> None:
    settings = masked_settings(5, opening, codec=CODEC)
    if HIDDEN[values]:
        settings = replace(settings, model=ModelSettings("mlp", hidden=HIDDEN[values], seed=4))
    settings = replace(settings, training=replace(settings.training, round_count=3))
    rehearsal, watch, error = play(lambda *message: None, settings=settings)
    assert error is None
    assert [record.party_count for record in rehearsal.records] == [5, 5, 5]
    for check in rehearsal.exactness_check.checks:
        assert check.largest_error <= check.bound
    sets = {
        (step.split("/upload")[0], message.parameter_set)
        for _, step, message in watch.received
        if isinstance(message, DealtMessage)
    }
    found = {name for step, name in sets if not step.endswith("exponents")}
    assert found == {"A24-128" if opening == "committee" and values == "few" else "C24-128"}
    assert {step for step, _ in sets} == {"round-1/exponents", "round-1", "round-2", "round-3"}
    # Every secret that is dealt ahead is used: as many uploads as sums.
    begun = [state.uploads.next_value for name, state in rehearsal.upload_states.items() if name != "notary"]
    assert begun == [4] * 5


def test_a_round_of_other_values_than_its_secret_was_dealt_for_goes_on_with_that_secret(
    play, masked_settings, monkeypatch
) -> None:
    """All parties took round 2 for one of many values: it costs bytes, and no upload."""
    from hekat.protocol.secure_sum.masked.party import MaskedAggregation

    deal_ahead = MaskedAggregation._deal_ahead
    monkeypatch.setattr(MaskedAggregation, "_deal_ahead", lambda self, step, slots: deal_ahead(self, step, 10**6))
    settings = masked_settings(5, codec=CODEC)
    settings = replace(settings, training=replace(settings.training, round_count=2))
    rehearsal, watch, error = play(lambda *message: None, settings=settings)
    assert error is None
    sets = [(step, one.parameter_set) for _, step, one in watch.received if isinstance(one, DealtMessage)]
    assert {name for step, name in sets if step.startswith("round-2")} == {"C24-128"}
    assert [record.party_count for record in rehearsal.records] == [5, 5]
    assert watch.senders_of(BeginMessage) == []
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {3}
