"""Mixed columns: their eigenvalues are bounded in every batch, scores stay what they are, ten epochs are enough."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.protocol.vertical.batches import draw_batches
from hekat.protocol.vertical_linear.mixing import apply_mixing, find_mixing, rate_by_rule
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS, train_centralised
from hekat.protocol.vertical_linear.prediction.predict_scores import _unmixed
from hekat.protocol.vertical_linear.training_settings import LinearTraining


def columns_of(rows: int = 600, seed: int = 2) -> np.ndarray:
    """Six columns, the last three nearly the first three, of very different units."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(rows, 3))
    return np.hstack([first, first + 0.03 * rng.normal(size=(rows, 3))]) * [1.0, 50.0, 0.01, 1.0, 1.0, 7.0] + 2.0


@pytest.mark.parametrize("batch_rows", [0, 60])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_no_eigenvalue_of_a_batch_exceeds_one(batch_rows, form) -> None:
    batches = draw_batches(600, batch_rows, 1)
    columns = form(columns_of())
    mixed = apply_mixing(columns, find_mixing(columns, batches))
    dense = mixed if isinstance(mixed, np.ndarray) else mixed.toarray()
    largest = max(np.linalg.eigvalsh(dense[rows].T @ dense[rows] / len(rows))[-1] for rows in batches)
    assert 0.3 < largest <= 1.0 + 1e-9


def test_columns_are_hardly_correlated_and_have_no_mean() -> None:
    mixed = apply_mixing(columns_of(), find_mixing(columns_of(), [np.arange(600)]))
    assert np.abs(mixed.mean(axis=0)).max() < 1e-9
    correlations = np.corrcoef(mixed.T) - np.eye(6)
    assert np.abs(correlations).max() < 0.5 < np.abs(np.corrcoef(columns_of().T) - np.eye(6)).max()


def test_equal_columns_and_many_columns_are_mixed() -> None:
    rng = np.random.default_rng(1)
    twice = np.repeat(rng.normal(size=(50, 2)), 2, axis=1)
    assert np.isfinite(find_mixing(twice, [np.arange(50)])).all()
    wide = csr_array(rng.random((80, 600)) * (rng.random((80, 600)) < 0.1))
    mixed = apply_mixing(wide, find_mixing(wide, [np.arange(80)])).toarray()
    assert np.linalg.eigvalsh(mixed.T @ mixed / 80)[-1] <= 1.0 + 1e-9


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_weights_of_mixed_columns_are_weights_of_the_columns_themselves(form) -> None:
    columns = form(columns_of())
    mixing = find_mixing(columns, [np.arange(600)])
    weights = np.random.default_rng(4).normal(size=(6, 2))
    unmixed, offset = _unmixed(weights, mixing)
    assert np.allclose(apply_mixing(columns, mixing) @ weights, columns @ unmixed + offset)


@pytest.mark.parametrize("task", ["linear", "logistic"])
def test_ten_epochs_by_rule_come_to_the_minimum_where_the_old_default_does_not(task) -> None:
    """Two parties with columns that are strongly correlated within each, and with the other's."""
    rng = np.random.default_rng(7)
    parts = [columns_of(seed=3), columns_of(seed=3)[:, ::-1] + rng.normal(size=(600, 6))]
    batches = [np.arange(600)]
    plain = np.hstack([(part - part.mean(axis=0)) / part.std(axis=0) for part in parts])
    mixed = np.hstack([apply_mixing(part, find_mixing(part, batches)) for part in parts])
    targets = (plain @ rng.normal(size=12) + rng.normal(size=600))[:, np.newaxis]
    targets = np.sign(targets) if task == "logistic" else targets / targets.std()
    factor, target_factor = (0.25, 0.5) if task == "logistic" else (1.0, 1.0)
    ruled = LinearTraining().resolved(factor, 2)
    old = LinearTraining(learning_rate=0.1).resolved(factor, 2)
    assert ruled.learning_rate == rate_by_rule(factor, 2)
    assert (old.optimiser, old.batch_rows, old.mixes_columns) == ("sgd", 1024, False)

    def residual_after(columns: np.ndarray, training: LinearTraining) -> float:
        *_, last = train_centralised(columns, targets, task, training)
        scores = columns @ last.parameters[WEIGHTS] + last.parameters[INTERCEPT]
        return float(np.mean((factor * scores - target_factor * targets) ** 2))

    ones = np.hstack([np.ones((600, 1)), plain])
    best, *_ = np.linalg.lstsq(ones * factor, target_factor * targets, rcond=None)
    least = float(np.mean((factor * ones @ best - target_factor * targets) ** 2))
    start = float(np.mean((target_factor * targets) ** 2))
    assert residual_after(mixed, ruled) - least < 0.02 * (start - least)
    assert residual_after(plain, old) - least > 0.025 * (start - least)
