"""Training among three parties or more equals centralised training, whoever holds the shares."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("task", "holders"),
    [
        ("two classes", None),
        ("number", ("bank", "telco")),
        ("number", ("shop", "telco")),
        pytest.param("two classes", ("shop", "telco"), marks=pytest.mark.long),
        pytest.param("number", None, marks=pytest.mark.long),
        pytest.param("three classes", ("shop", "telco"), marks=pytest.mark.long),
        pytest.param("three classes", ("bank", "telco"), marks=pytest.mark.long),
    ],
)
def test_equals_centralised_training(many_run_of, many_settings, tables_of, in_order, centralised, task, holders):
    settings, tables = (
        many_settings(task=task, share_holders=holders, batch_rows=100),
        tables_of(3, rows=200, columns=(2, 3, 1), task=task),
    )
    run = many_run_of(settings, tables)
    parts = run.run()
    expected, losses = centralised(settings, tables)
    checks = run.exactness_check.checks
    assert len(checks) == 4
    assert max(check.largest_error / check.bound for check in checks) <= 1.0
    assert np.abs(in_order(settings, tables, parts) - expected).max() < 200 * 2.0**-32
    assert np.allclose([record.loss for record in run.records["bank"]], losses, rtol=0, atol=2.0**-20)


@pytest.mark.parametrize("holders", [None, ("shop", "telco")])
def test_a_guest_may_have_labels_alone(many_run_of, many_settings, tables_of, in_order, centralised, holders):
    settings = many_settings(share_holders=holders, batch_rows=100)
    tables = tables_of(3, rows=200, columns=(0, 3, 2))
    run = many_run_of(settings, tables)
    parts = run.run()
    expected, losses = centralised(settings, tables)
    assert len(run.exactness_check.checks) == 4
    assert np.abs(in_order(settings, tables, parts) - expected).max() < 200 * 2.0**-32
    assert np.allclose([record.loss for record in run.records["bank"]], losses, rtol=0, atol=2.0**-20)


def test_four_parties_with_sparse_columns(many_run_of, many_settings, tables_of, in_order, centralised):
    settings = many_settings(hosts=("shop", "telco", "lab"), batch_rows=0)
    tables = tables_of(3, rows=200, columns=(2, 3, 4, 3), sparse=True)
    parts = many_run_of(settings, tables).run()
    expected, _ = centralised(settings, tables)
    assert np.abs(in_order(settings, tables, parts) - expected).max() < 200 * 2.0**-32


def test_two_parties_one_with_labels_alone(run_of, settings_of, tables_of, opened, centralised):
    settings, tables = settings_of(batch_rows=100), tables_of(3, rows=200, columns=(0, 3))
    parts = run_of(settings, tables).run()
    expected, _ = centralised(settings, tables)
    assert np.abs(opened(parts) - expected).max() < 200 * 2.0**-32
