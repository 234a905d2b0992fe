"""Training on shares: equal to centralised training within the bound of each step, both ways, for every task."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.protocol.vertical_linear.columns import prepare_columns, prepare_targets
from hekat.protocol.vertical_linear.fixed_point import decode_features, encode_features
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS, train_centralised
from hekat.protocol.vertical_linear.shared_weights.shares import add_shares, to_floats


def opened_weights(parts):
    """Intercept and weights (1 + columns, K) of a model whose two parts meet here."""
    one, other = (part.arrays for part in parts.values())
    intercept = add_shares(one["intercept_shares"], other["intercept_shares"])
    weights = add_shares(one["weight_shares"], other["weight_shares"])
    bits = next(iter(parts.values())).value_bits
    return np.concatenate([to_floats(intercept, bits)[np.newaxis], to_floats(weights, bits)])


def central(settings, tables):
    """Centralised training on the columns as rounded: (intercept and weights at the end, losses by epoch)."""
    columns = []
    for table in tables.values():
        prepared = prepare_columns(table, standardise=settings.training.standardise).features
        rounded = decode_features(encode_features(prepared, settings.fixed_point, table.name), settings.fixed_point)
        columns.append(rounded if isinstance(rounded, np.ndarray) else rounded.toarray())
    targets = prepare_targets(tables[settings.guest], settings).values
    *steps, last = train_centralised(np.hstack(columns), targets, settings.task, settings.training)
    losses = [
        float(np.mean([step.loss for step in steps if step.epoch == epoch]))
        for epoch in range(1, settings.training.epochs + 1)
    ]
    return np.concatenate([last.parameters[INTERCEPT][np.newaxis], last.parameters[WEIGHTS]]), losses


@pytest.mark.parametrize(
    ("task", "training"),
    [
        ("two classes", {"l2": 0.01}),
        ("number", {"learning_rate": 0.2, "batch_rows": 0, "epochs": 3}),
        ("three classes", {"optimiser": "momentum", "learning_rate": 0.1, "batch_rows": 25, "l2": 0.001}),
    ],
)
def test_equals_centralised_training(run_of, tables_of, settings_of, way, task, training):
    settings, tables = settings_of(task=task, **training), tables_of(3, task=task)
    run = run_of(settings, tables)
    parts = run.run()
    expected, losses = central(settings, tables)
    steps = len(run.witness.checks)
    assert steps == settings.training.epochs * len({check.step.split("/")[1] for check in run.witness.checks})
    assert max(check.largest_error / check.bound for check in run.witness.checks) <= 1.0
    # Each step is off by a few units of 2^-32, which later steps do not blow up.
    assert np.abs(opened_weights(parts) - expected).max() < 50 * steps * 2.0**-32
    told = [record.loss for record in run.records["bank"]]
    assert np.allclose(told, losses, rtol=0, atol=2.0**-22)
    assert [record.loss for record in run.records["shop"]] == [None] * settings.training.epochs
