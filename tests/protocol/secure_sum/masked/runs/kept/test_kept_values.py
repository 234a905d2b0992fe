"""Rounds in which parties send a part of their updates, the same part all, and owe the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hekat.privacy.mask import Mask
from hekat.protocol.horizontal.settings import ModelSettings, TrainingSettings
from hekat.protocol.secure_sum.index_sets.agree import IndexSets
from hekat.protocol.secure_sum.settings import CodecSettings

MODEL = ModelSettings(name="mlp", hidden=(60,))
TRAINED = 3 * 60 + 60 + 60 + 1
LOCAL = TrainingSettings(round_count=3, batch_rows=8, keep=0.2)


@pytest.fixture
def kept_settings(masked_settings):
    def make(by: str, parties: int = 4, opening: str = "committee", **others: Any):
        training = replace(LOCAL, keep_by=by, **others)  # type: ignore[arg-type]
        codec = CodecSettings(value_bits=24, clipping="fixed", alpha=8.0)
        return replace(masked_settings(parties, opening, training=training, codec=codec), model=MODEL)

    return make


@pytest.mark.quick_cases("vote")
@pytest.mark.parametrize("by", ["vote", "top_k", "random_k"])
def test_masked_and_plain_runs_send_the_same_part_and_end_alike(by, rehearse_masked, kept_settings) -> None:
    settings = kept_settings(by)
    own: dict[str, Any] = {}
    rehearsal = rehearse_masked(settings)
    rehearsal.save_own = lambda party, kept: own.update({party: kept})
    state = rehearsal.run()
    plain = rehearse_masked(replace(settings, protection="none"), exactness_check=False).run()
    checks = [check for check in rehearsal.exactness_check.checks if check.step.startswith("round-")]
    assert len(checks) == 3
    assert all(0 < check.largest_error <= check.bound for check in checks)
    drift = max(float(np.abs(state.parameters[name] - values).max()) for name, values in plain.parameters.items())
    # By `top_k` a sum that is nothing in one run and rounded in the other decides which values follow.
    assert by == "top_k" or drift <= 20 * sum(check.bound for check in checks)
    # A block of 64 values where parties vote, and always the last 45, which are no block.
    sent = [record.value_count / record.party_count for record in rehearsal.records]
    assert sent == [109 if by == "vote" else 61] * 3
    assert own.keys() == set(settings.parties)
    for kept in own.values():
        waiting = sum(np.count_nonzero(values) for values in kept.owed.values())
        assert TRAINED / 3 < waiting <= TRAINED
    assert (set(state.seen) == set(state.parameters)) is (by == "top_k")


def test_no_sum_opens_with_a_party_that_sends_other_values(rehearse_masked, kept_settings, monkeypatch) -> None:
    """The others go on without it: as many values at other places would make a sum of things that do not belong."""
    choose = IndexSets._choose

    def choose_otherwise(self: IndexSets, aggregation: Any, *others: Any) -> Mask:
        mask = choose(self, aggregation, *others)
        if aggregation._channel.party != "b":
            return mask
        bits = np.unpackbits(mask.packed_bits, bitorder="little", count=mask.value_count)
        one, other = np.flatnonzero(bits)[0], np.flatnonzero(bits == 0)[0]
        bits[[one, other]] = 0, 1
        return Mask(mask.sizes, np.packbits(bits, bitorder="little"))

    monkeypatch.setattr(IndexSets, "_choose", choose_otherwise)
    rehearsal = rehearse_masked(kept_settings("random_k"))
    rehearsal.run()
    assert rehearsal.lost_names == ["b"]
    assert "than most" in rehearsal.reasons
    assert {record.party_count for record in rehearsal.records} == {3}


@pytest.mark.long
@pytest.mark.parametrize("by", ["vote", "random_k"])
@pytest.mark.parametrize("opening", ["authority", "shared"])
def test_other_openers_serve_the_same_rounds(by, opening, rehearse_masked, kept_settings) -> None:
    rehearsal = rehearse_masked(kept_settings(by, opening=opening))
    state = rehearsal.run()
    plain = rehearse_masked(replace(rehearsal.settings, protection="none", authority=None), exactness_check=False).run()
    for name, values in plain.parameters.items():
        np.testing.assert_allclose(state.parameters[name], values, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("by", ["vote", "top_k", "random_k"])
def test_what_was_not_sent_arrives_later(by, rehearse_masked, kept_settings) -> None:
    """With all rows a round, a fifth of the values a round reaches about the loss of all values."""
    others = {"algorithm": "fedsgd", "round_count": 40, "batch_rows": 0, "learning_rate": 0.3}
    settings = kept_settings(by, 3, "shared", **others)
    kept = rehearse_masked(settings).run()
    whole_training = replace(settings.training, keep=1.0, keep_by="vote")
    whole = rehearse_masked(replace(settings, training=whole_training)).run()
    assert kept.losses[-1] - whole.losses[-1] < 0.25 * (whole.losses[0] - whole.losses[-1])


@pytest.mark.long
def test_rounds_without_a_party_leave_what_it_owes(rehearse_masked, kept_settings) -> None:
    own: dict[str, Any] = {}
    rehearsal = rehearse_masked(kept_settings("vote", 5, participation=0.6, round_count=4))
    rehearsal.save_own = lambda party, kept: own.update({party: kept})
    state = rehearsal.run()
    assert {party: kept.round for party, kept in own.items()} == {p: n for p, n in state.last_rounds.items() if n}
    assert all(record.party_count == 3 for record in rehearsal.records)
