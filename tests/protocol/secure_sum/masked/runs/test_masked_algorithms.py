"""Algorithms whose update is more than a change of weights, under masks: within the bounds of runs in the clear."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.secure_sum.settings import CodecSettings

SEARCH = TrainingSettings(algorithm="lbfgs", round_count=60)
LOCAL = TrainingSettings(round_count=3, batch_rows=8, local_epochs=2)


def drift_of(state, plain) -> float:
    return max(float(np.abs(state.parameters[name] - values).max()) for name, values in plain.parameters.items())


@pytest.mark.quick_cases("sgd-fedprox")
@pytest.mark.parametrize("algorithm", ["fedprox", "scaffold"])
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_masked_and_plain_runs_end_alike(algorithm, optimiser, rehearse_masked, masked_settings) -> None:
    training = replace(LOCAL, algorithm=algorithm, optimiser=optimiser)
    settings = masked_settings(4, "committee", training=training, codec=CodecSettings(value_bits=24))
    rehearsal = rehearse_masked(settings)
    state = rehearsal.run()
    plain = rehearse_masked(replace(settings, protection="none"), exactness_check=False).run()
    assert not any(record.clipped_count for record in rehearsal.records)
    checks = [check for check in rehearsal.exactness_check.checks if check.step.startswith("round-")]
    assert len(checks) == 3
    assert all(0 < check.largest_error <= check.bound for check in checks)
    # Each round is off by its own bound; Adam divides by what may be small, and so widens it.
    assert 0 < drift_of(state, plain) <= (4 if optimiser == "sgd" else 400) * sum(check.bound for check in checks)
    assert state.optimiser_state.keys() == plain.optimiser_state.keys()


def test_the_corrections_cancel_out_although_bits_are_few_and_values_clipped(rehearse_masked, masked_settings) -> None:
    """c stays the weighted mean of all c_i, since each party keeps what it sent and not what it meant."""
    codec = CodecSettings(value_bits=4, clipping="fixed", alpha=0.02)
    settings = masked_settings(4, "committee", training=replace(LOCAL, algorithm="scaffold"), codec=codec)
    rehearsal = rehearse_masked(settings)
    own = {}
    rehearsal.save_own = lambda party, kept: own.update({party: kept})
    state = rehearsal.run()
    assert any(record.clipped_count for record in rehearsal.records)
    rows = {party: len(rehearsal.tables[party]) for party in settings.parties}
    assert state.row_count == sum(rows.values())
    for name, shared in state.control.items():
        mean = sum(rows[party] * own[party].control[name] for party in rows) / sum(rows.values())
        np.testing.assert_allclose(shared, mean, atol=1e-12)
        assert np.abs(shared).max() > 0


@pytest.mark.long
def test_a_lost_party_leaves_its_last_control_variate(rehearse_masked, masked_settings) -> None:
    settings = masked_settings(5, "committee", training=replace(LOCAL, algorithm="scaffold"))
    rehearsal = rehearse_masked(settings, rehearsed_dropouts={"b": 2})
    own = {}
    rehearsal.save_own = lambda party, kept: own.update({party: kept})
    state = rehearsal.run()
    assert rehearsal.lost_names == ["b"]
    assert state.last_rounds == {party: 1 if party == "b" else 3 for party in settings.parties}
    assert own["b"].round == 1
    rows = {party: len(rehearsal.tables[party]) for party in settings.parties}
    for name, shared in state.control.items():
        mean = sum(rows[party] * own[party].control[name] for party in rows) / sum(rows.values())
        np.testing.assert_allclose(shared, mean, atol=1e-12)


@pytest.mark.long
def test_error_feedback_takes_the_bias_out_of_four_bits(rehearse_masked, masked_settings) -> None:
    """With 4 bits in a fixed range every small update is rounded away, round after round; owed, it arrives later."""
    codec = CodecSettings(value_bits=4, clipping="fixed", alpha=0.2)
    training = TrainingSettings(algorithm="fedsgd", round_count=40, batch_rows=0, learning_rate=0.3)
    settings = masked_settings(3, "shared", training=training, codec=codec)
    plain = rehearse_masked(replace(settings, protection="none"), exactness_check=False).run()
    without = rehearse_masked(settings).run()
    settings = replace(settings, training=replace(training, error_feedback=True))
    with_feedback = rehearse_masked(settings).run()
    assert drift_of(with_feedback, plain) < 0.5 * drift_of(without, plain)
    assert with_feedback.losses[-1] - plain.losses[-1] < 0.5 * (without.losses[-1] - plain.losses[-1])


def search_settings(masked_settings, parties: int, **others):
    return masked_settings(parties, "committee", training=SEARCH, codec=CodecSettings(value_bits=24), **others)


@pytest.mark.long
def test_masked_and_plain_searches_settle_alike(rehearse_masked, masked_settings) -> None:
    settings = search_settings(masked_settings, 4)
    rehearsal = rehearse_masked(settings)
    state = rehearsal.run()
    plain = rehearse_masked(replace(settings, protection="none"), exactness_check=False).run()
    assert state.finished
    assert plain.finished
    assert not any(record.clipped_count for record in rehearsal.records)
    assert "lbfgs/gram" in {check.step for check in rehearsal.exactness_check.checks}
    assert abs(state.losses[-1] - plain.losses[-1]) < 1e-4 * plain.losses[-1]


@pytest.mark.long
def test_a_lost_party_takes_its_rows_along_and_the_search_goes_on(rehearse_masked, masked_settings) -> None:
    rehearsal = rehearse_masked(search_settings(masked_settings, 5), rehearsed_dropouts={"b": 2})
    state = rehearsal.run()
    assert rehearsal.lost_names == ["b"]
    assert state.finished
    left = {name: rehearsal.tables[name] for name in rehearsal.settings.parties if name != "b"}
    assert state.optimiser_state["row_count"] == sum(len(table) for table in left.values())
    # At the end the slope over the rows that are left is next to nothing.
    X = state.standardiser.apply(np.concatenate([table.features for table in left.values()]))
    y = np.concatenate([table.labels for table in left.values()])
    weight, bias = state.parameters["weight"], state.parameters["bias"]
    slope = X.T @ (1 / (1 + np.exp(-(X @ weight + bias)))[:, 0] - y) / len(y)
    slope = slope + float(state.optimiser_state["penalty"]) * weight[:, 0]
    assert np.abs(slope).max() < 0.01
