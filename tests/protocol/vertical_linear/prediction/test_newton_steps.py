"""How often weights move: by the host's independent columns, which fewer scores of a row than these may tell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.estimator import VerticalLogisticRegression
from hekat.protocol.vertical_linear.prediction.newton_steps import count_independent_columns, newton_steps
from hekat.protocol.vertical_linear.shared_weights.messages import NewtonStepsMessage
from hekat.protocol.vertical_linear.shared_weights.reweighting.reweight import MOST_COLUMNS
from hekat.wire import disclosure_of


def one_hot(values: np.ndarray, count: int) -> np.ndarray:
    return (values[:, np.newaxis] == np.arange(count)).astype(np.float64)


@pytest.fixture(scope="module")
def numbers() -> np.ndarray:
    return np.random.default_rng(11).normal(size=(120, 4))


def test_columns_that_follow_from_others_do_not_count(numbers) -> None:
    assert count_independent_columns(numbers) == 4
    total = numbers.sum(axis=1, keepdims=True)
    assert count_independent_columns(np.hstack([numbers, total, 5.0 - 2.2 * numbers[:, :1]])) == 4
    nearly = numbers[:, :1] + 0.01 * numbers[:, 1:2]
    assert count_independent_columns(np.hstack([numbers[:, :1], nearly])) == 1
    # Whatever the units are.
    assert count_independent_columns(np.hstack([1e9 * numbers, 1e-9 * total])) == 4


def test_categories_and_other_columns_of_few_values_do_not_count(numbers) -> None:
    rng = np.random.default_rng(12)
    category = one_hot(rng.integers(3, size=120), 3)
    assert count_independent_columns(category) == 0
    assert count_independent_columns(np.hstack([numbers, category])) == 4
    grades = rng.integers(16, size=(120, 6)).astype(np.float64)
    assert count_independent_columns(np.hstack([numbers, grades])) == 4
    # Filled with its mean where the column beside it says that it is missing.
    missing = rng.random(120) < 0.3
    filled = np.where(missing, 0.0, numbers[:, 0])
    assert count_independent_columns(np.column_stack([filled, missing])) == 1
    # What is left of a column beyond a category that nearly says it.
    known = category @ [1.0, 5.0, -3.0]
    assert count_independent_columns(np.column_stack([category, known + 0.1 * numbers[:, 0]])) == 0


def test_noise_makes_no_column_count(numbers) -> None:
    """Jitter, stray codes and mostly empty columns hold as few bits as without; a sum with noise follows anyhow."""
    rng = np.random.default_rng(5)
    flags = rng.integers(0, 2, (500, 3)).astype(float)
    codes = np.where(rng.random((500, 3)) < 0.05, rng.integers(2, 17, (500, 3)), flags)
    tail = np.where(rng.random((500, 3)) < 0.98, 0.0, rng.normal(size=(500, 3)))
    for columns in (flags + 1e-12 * rng.normal(size=(500, 3)), codes, tail):
        assert count_independent_columns(columns / columns.std(axis=0)) == 0
    two = rng.normal(size=(500, 2))
    near = two.sum(axis=1) / np.sqrt(2) + 0.15 * rng.normal(size=500)
    assert count_independent_columns(np.column_stack([two, near])) == 2
    assert count_independent_columns(1e-200 * two) == 0


def test_columns_that_are_not_reweighted_do_not_count(numbers) -> None:
    assert count_independent_columns(csr_array(numbers)) == 0
    assert count_independent_columns(np.zeros((120, 0))) == 0
    assert count_independent_columns(np.random.default_rng(1).normal(size=(20, MOST_COLUMNS + 1))) == 0


@pytest.mark.parametrize(
    ("independent", "classes", "is_part", "steps"),
    [
        (0, 1, False, 1),
        (2, 1, False, 1),
        (3, 1, False, 2),
        (9, 1, True, 1),
        (5, 3, False, 0),
        (6, 3, False, 1),
        (6, 3, True, 1),
    ],
)
def test_scores_tell_fewer_combinations_than_there_are_columns(independent, classes, is_part, steps) -> None:
    assert newton_steps(independent, classes, is_part=is_part) == steps


def test_the_guest_hears_how_often_and_nothing_finer() -> None:
    assert {name: one.kind for name, one in disclosure_of(NewtonStepsMessage).items()} == {"steps": "disclosed"}


@pytest.mark.long
def test_a_host_of_four_columns_that_hold_two_is_scored_once(numbers, paillier_keys) -> None:
    """Two numbers and a category: by its number of columns alone the host would be scored twice, which shows both."""
    category = one_hot((numbers[:60, 3] > 0).astype(np.int64), 2)
    X = np.hstack([np.random.default_rng(13).normal(size=(60, 1)), numbers[:60, :2], category])
    y = (X @ [1.0, 2.0, -1.0, 0.5, 0.5] > 0.3).astype(np.int64)
    keys = {"a": paillier_keys[2048][0], "b": paillier_keys[2048][-1]}
    columns = {"a": slice(0, 1), "b": slice(1, 5)}
    model = VerticalLogisticRegression(columns=columns, keys=keys, key_bits=2048, epochs=1).fit(X, y)
    for name in ("a", "b"):
        notes = [note.what for note in model.ledgers_[name].notes]
        assert any(text.startswith("how often weights move") and text.endswith("; 1 times") for text in notes)
    told = [note.what for note in model.ledgers_["a"].notes if "learns the scores of 60 training rows" in note.what]
    assert len(told) == 1
    assert model.predicted_rows_ == {"a": 60, "b": 60}
