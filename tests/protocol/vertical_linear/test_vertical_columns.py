"""A party's labels made ready for training, and limits of its columns, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import InputError, JobError
from hekat.protocol.vertical_linear.columns import prepare_targets
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import LinearTraining


def table_of(features, labels=None) -> Table:
    return Table(features, labels, tuple(f"c{i}" for i in range(features.shape[1])), "table of shop")


def settings_of(classes=("no", "yes"), *, standardise: bool = True) -> VerticalLinearSettings:
    task = "linear" if classes is None else "logistic"
    return VerticalLinearSettings(
        "bank", ("shop",), task=task, classes=classes, training=LinearTraining(standardise=standardise)
    )


@pytest.mark.parametrize("limit", [-1.0, 0.49, float("nan"), float("inf"), "3"])
def test_limits_that_are_none_are_refused(limit: object) -> None:
    with pytest.raises(JobError, match="limit_spreads"):
        VerticalLinearSettings("bank", ("shop",), classes=("a", "b"), training=LinearTraining(limit_spreads=limit))


def test_a_limit_without_standardising_is_refused() -> None:
    training = LinearTraining(limit_spreads=3.0, standardise=False)
    with pytest.raises(JobError, match="needs standardised columns"):
        VerticalLinearSettings("bank", ("shop",), classes=("a", "b"), training=training)


def test_classes_become_targets_of_minus_and_plus_one() -> None:
    features = np.arange(4.0)[:, np.newaxis]
    two = prepare_targets(table_of(features, np.array(["no", "yes", "yes", "no"])), settings_of())
    assert two.values.tolist() == [[-1], [1], [1], [-1]]
    three = prepare_targets(table_of(features, np.array(["b", "a", "c", "b"])), settings_of(("a", "b", "c")))
    assert three.values.tolist() == [[-1, 1, -1], [1, -1, -1], [-1, -1, 1], [-1, 1, -1]]


def test_numbers_are_standardised_where_the_job_says() -> None:
    features, labels = np.arange(4.0)[:, np.newaxis], np.array([1.0, 2.0, 3.0, 6.0])
    targets = prepare_targets(table_of(features, labels), settings_of(None))
    np.testing.assert_allclose(targets.values[:, 0] * targets.spread + targets.mean, labels)
    assert abs(targets.values.mean()) < 1e-12
    plain = prepare_targets(table_of(features, labels), settings_of(None, standardise=False))
    assert plain.values[:, 0].tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("labels", "message"), [(None, "guest bank has no labels"), (np.ones(3, np.int64), "labels of guest bank are all")]
)
def test_no_labels_and_constant_labels_are_refused(labels, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare_targets(table_of(np.arange(3.0)[:, np.newaxis], labels), settings_of())
