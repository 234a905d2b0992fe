"""Training on shares: equal to centralised training within the bound of each step, both ways, for every task."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("task", "training"),
    [
        ("two classes", {"l2": 0.01}),
        ("number", {"learning_rate": 0.2, "batch_rows": 0, "epochs": 3}),
        ("three classes", {"optimiser": "momentum", "learning_rate": 0.1, "batch_rows": 25, "l2": 0.001}),
    ],
)
def test_equals_centralised_training(run_of, tables_of, settings_of, way, task, training, opened, centralised):
    settings, tables = settings_of(task=task, **training), tables_of(3, task=task)
    run = run_of(settings, tables)
    parts = run.run()
    expected, losses = centralised(settings, tables)
    steps = len(run.witness.checks)
    assert steps == settings.training.epochs * len({check.step.split("/")[1] for check in run.witness.checks})
    assert max(check.largest_error / check.bound for check in run.witness.checks) <= 1.0
    # Each step is off by a few units of 2^-32, which later steps do not blow up.
    assert np.abs(opened(parts) - expected).max() < 50 * steps * 2.0**-32
    told = [record.loss for record in run.records["bank"]]
    assert np.allclose(told, losses, rtol=0, atol=2.0**-22)
    assert [record.loss for record in run.records["shop"]] == [None] * settings.training.epochs
