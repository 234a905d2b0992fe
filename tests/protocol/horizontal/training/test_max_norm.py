"""Training with a bound on updates: no step is longer, and a run with a longer sum ends by name."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hekat.errors import InputError, PartyStoppedError
from hekat.protocol.horizontal.settings import ModelSettings, TrainingSettings
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.protocol.secure_sum.update_norm import UpdateNorm

TRAINING = TrainingSettings("fedavg", round_count=3, local_epochs=2, batch_rows=5, learning_rate=0.5)


def train(rehearse, tables_of, settings_of, max_norm: float, **others):
    settings = settings_of(training=TRAINING, codec=CodecSettings(max_norm=max_norm), **others)
    rehearsal = rehearse(settings, tables_of(3))
    return rehearsal, rehearsal.run()


@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_no_round_moves_the_model_by_more_than_the_bound(rehearse, tables_of, settings_of, protection) -> None:
    most = 0.05
    rehearsal, _ = train(rehearse, tables_of, settings_of, most, protection=protection)
    models = [{name: np.zeros_like(values) for name, values in rehearsal.saved[0].parameters.items()}]
    models += [state.parameters for state in rehearsal.saved]
    for before, after in pairwise(models):
        moved = np.concatenate([(after[name] - before[name]).ravel() for name in after])
        assert np.linalg.norm(moved) <= most * 1.001
    assert [record.scaled_down_count for record in rehearsal.records] == [3, 3, 3]


def test_a_wide_bound_changes_nothing(rehearse, tables_of, settings_of) -> None:
    _, bounded = train(rehearse, tables_of, settings_of, 1e3, protection="none")
    _, free = train(rehearse, tables_of, settings_of, 0.0, protection="none")
    for name, values in free.parameters.items():
        np.testing.assert_array_equal(bounded.parameters[name], values)


@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_a_party_that_keeps_to_no_bound_ends_the_run_before_its_sum_is_used(
    rehearse, tables_of, settings_of, monkeypatch, protection
) -> None:
    """From the third update on nobody is scaled down, and one update is a hundred times too long."""
    original, calls = UpdateNorm.limit, []

    def deviate(self, update):
        calls.append(1)
        if len(calls) <= 3:  # the first round's three parties
            return original(self, update)
        return {name: np.full_like(values, 5.0) for name, values in update.items()}, 1.0

    monkeypatch.setattr(UpdateNorm, "limit", deviate)
    settings = settings_of(training=TRAINING, codec=CodecSettings(max_norm=0.05), protection=protection)
    rehearsal = rehearse(settings, tables_of(3))
    with pytest.raises(PartyStoppedError, match="the sum of round-2 is longer than honest updates make it"):
        rehearsal.run()
    assert {state.rounds_done for state in rehearsal.saved} == {1}


@pytest.mark.parametrize("algorithm", ["lbfgs", "scaffold"])
def test_algorithms_that_need_whole_updates_refuse_a_bound(settings_of, algorithm) -> None:
    training = TrainingSettings(algorithm) if algorithm == "scaffold" else TrainingSettings("lbfgs", batch_rows=32)
    with pytest.raises(InputError, match="max_norm"):
        settings_of(training=training, model=ModelSettings("logistic"), codec=CodecSettings(max_norm=1.0))
