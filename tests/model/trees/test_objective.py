"""Losses of trees: derivatives against differences, start scores at the minimum, labels refused."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.model.trees import Objective, make_objective

SEED = 20


def _case(class_count: int) -> tuple[Objective, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(SEED)
    objective = make_objective(class_count)
    y = rng.integers(0, class_count, 40) if class_count else rng.normal(size=40)
    return objective, rng.normal(size=(objective.tree_count, 40)), y


@pytest.mark.parametrize("class_count", [0, 2, 3, 7])
def test_gradients_are_the_slopes_of_the_loss(class_count: int) -> None:
    objective, scores, y = _case(class_count)
    first, second = objective.gradients(scores, y)
    step = 1e-5
    for k in range(objective.tree_count):
        moved = [scores.copy(), scores.copy()]
        moved[0][k] += step
        moved[1][k] -= step
        slopes = (objective.row_losses(moved[0], y) - objective.row_losses(moved[1], y)) / (2 * step)
        assert np.allclose(first[k], slopes, atol=1e-8)
        curves = (objective.gradients(moved[0], y)[0][k] - objective.gradients(moved[1], y)[0][k]) / (2 * step)
        factor = class_count / (class_count - 1) if class_count > 2 else 1.0
        assert np.allclose(second[k], curves * factor, atol=1e-8)


@pytest.mark.parametrize("class_count", [0, 2, 3])
def test_no_constant_is_better_than_start_scores(class_count: int) -> None:
    objective, _, y = _case(class_count)
    start = objective.start_scores(objective.label_sums(y), len(y))

    def loss(scores: np.ndarray) -> float:
        return float(objective.row_losses(np.repeat(scores[:, None], len(y), axis=1), y).mean())

    for k in range(objective.tree_count):
        for step in (-0.01, 0.01):
            moved = start.copy()
            moved[k] += step
            assert loss(moved) > loss(start)


@pytest.mark.parametrize("class_count", [2, 3])
def test_probabilities_add_up_to_one(class_count: int) -> None:
    objective, scores, _ = _case(class_count)
    probabilities = objective.predict(scores)
    assert probabilities.shape == (40, class_count)
    assert np.allclose(probabilities.sum(axis=1), 1)


def test_a_class_without_rows_has_a_finite_start() -> None:
    for class_count in (2, 3):
        objective = make_objective(class_count)
        assert np.isfinite(objective.start_scores(objective.label_sums(np.zeros(9, np.int64)), 9)).all()


@pytest.mark.parametrize(
    ("class_count", "y"),
    [
        (0, np.array([1.0, np.nan])),
        (0, np.array([1.0, np.inf])),
        (0, np.array([[1.0]])),
        (2, np.array([0.0, np.nan])),
        (2, np.array([0.0, 1.0])),
        (2, np.array([0, 2])),
        (3, np.array([-1, 2])),
        (3, np.array([0, 3])),
    ],
)
def test_labels_that_are_missing_or_do_not_fit_are_refused(class_count: int, y: np.ndarray) -> None:
    with pytest.raises(InputError, match="refused"):
        make_objective(class_count).check_labels(y)


@pytest.mark.parametrize("class_count", [1, -1])
def test_one_class_is_refused(class_count: int) -> None:
    with pytest.raises(InputError, match="classes refused"):
        make_objective(class_count)
