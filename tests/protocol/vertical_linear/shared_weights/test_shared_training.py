"""Training on shares equals centralised training within the bound of each step, by both methods, for every task."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hekat.data import Table
from hekat.protocol.vertical_linear.loss_bits import told_loss_bits
from hekat.protocol.vertical_linear.objective import residual_of
from hekat.protocol.vertical_linear.shared_weights import training as training_module


def loss_unit(settings, tables) -> float:
    """How finely the guest is told the losses of a run."""
    bits = told_loss_bits(len(tables["bank"]), settings.training.epochs)
    return residual_of(settings.task).loss_factor * 2.0**-bits


@pytest.mark.long_cases("residuals-three classes-training2")
@pytest.mark.parametrize(
    ("task", "training"),
    [
        ("two classes", {"l2": 0.01}),
        ("number", {"learning_rate": 0.2, "batch_rows": 0, "epochs": 3}),
        ("three classes", {"optimiser": "momentum", "learning_rate": 0.1, "batch_rows": 25, "l2": 0.001}),
    ],
)
def test_equals_centralised_training(
    run_of, tables_of, settings_of, gradient_method, task, training, opened, centralised
):
    settings, tables = settings_of(task=task, **training), tables_of(3, task=task)
    run = run_of(settings, tables)
    parts = run.run()
    expected, losses = centralised(settings, tables)
    steps = len(run.exactness_check.checks)
    assert steps == settings.training.epochs * len({check.step.split("/")[1] for check in run.exactness_check.checks})
    assert max(check.largest_error / check.bound for check in run.exactness_check.checks) <= 1.0
    # Each step is off by a few units of 2^-32, which later steps do not blow up.
    assert np.abs(opened(parts) - expected).max() < 50 * steps * 2.0**-32
    told = [record.loss for record in run.records["bank"]]
    assert np.allclose(told, losses, rtol=0, atol=2.0**-22 + loss_unit(settings, tables))
    assert [record.loss for record in run.records["shop"]] == [None] * settings.training.epochs


@pytest.mark.long
@pytest.mark.parametrize("task", ["two classes", "number"])
def test_gradients_keep_the_bound_that_is_told(run_of, settings_of, gradient_method, task):
    """Columns lie on the grid of the fixed point, so that nothing but the protocol's own rounding is left."""
    rng = np.random.default_rng(13)
    values = rng.integers(-(2**12), 2**12, (50, 5)) / 2**10
    labels = rng.integers(-99, 99, 50) / 2**8 if task == "number" else rng.permutation(np.arange(50) % 2)
    tables = {
        "bank": Table(values[:, :3], labels, ("a", "b", "c"), "bank"),
        "shop": Table(values[:, 3:], None, ("d", "e"), "shop"),
    }
    run = run_of(settings_of(task=task, standardise=False, learning_rate=0.05, epochs=3, batch_rows=17), tables)
    run.run()
    assert len(run.exactness_check.checks) == 9
    told = min(record.gradient_error_bound for records in run.records.values() for record in records)
    assert told < 8 * 2.0**-32
    # float64 itself rounds the centralised gradient at 2^-53 of numbers below 2^10.
    assert max(check.largest_error for check in run.exactness_check.checks) < told + 2.0**-40


@pytest.mark.long
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(2, 40),
    columns=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    batch_rows=st.integers(0, 12),
    skew=st.sampled_from([0.0, 3.0]),
    task=st.sampled_from(["two classes", "number"]),
    kept=st.booleans(),
)
@hypothesis_settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_data_and_batches_give_the_centralised_weights(
    run_of, settings_of, opened, centralised, seed, rows, columns, batch_rows, skew, task, kept
):
    """In the clear, with the same arithmetic on the same shares; with ties, heavy tails and one-sided classes."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(rows, sum(columns))), 1) * np.exp(skew * rng.random((rows, sum(columns))))
    values[0], values[1] = -1.0, 1.0  # no column is constant, nor are the labels
    labels = values[:, 0] if task == "number" else (np.arange(rows) == 1).astype(np.int64)
    tables = {
        "bank": Table(values[:, : columns[0]], labels, tuple(f"g{i}" for i in range(columns[0])), "bank"),
        "shop": Table(values[:, columns[0] :], None, tuple(f"h{i}" for i in range(columns[1])), "shop"),
    }
    settings = settings_of(task=task, batch_rows=batch_rows, learning_rate=0.05, epochs=2, protection="none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_module, "prefers_gram", lambda *_: kept)
        run = run_of(settings, tables)
        parts = run.run()
    expected, losses = centralised(settings, tables)
    assert np.abs(opened(parts) - expected).max() < 50 * len(run.exactness_check.checks) * 2.0**-32
    assert np.allclose(
        [record.loss for record in run.records["bank"]], losses, rtol=0, atol=2.0**-20 + loss_unit(settings, tables)
    )
