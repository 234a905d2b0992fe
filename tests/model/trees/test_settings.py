"""Settings of trees refuse what training could not use, with the setting's name."""

from __future__ import annotations

import math

import pytest

from hekat.errors import InputError
from hekat.model.trees import TreeTraining


def test_defaults_are_accepted() -> None:
    assert TreeTraining().max_depth == 6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_iter", 0),
        ("max_iter", 1.5),
        ("max_iter", True),
        ("learning_rate", 0.0),
        ("learning_rate", 1.1),
        ("learning_rate", math.nan),
        ("max_depth", 0),
        ("max_depth", 17),
        ("max_leaf_nodes", 1),
        ("min_samples_leaf", 0),
        ("l2_regularization", -1.0),
        ("l2_regularization", math.inf),
        ("min_gain", -0.1),
        ("min_child_weight", -1e-3),
        ("max_bins", 1),
        ("max_bins", 256),
        ("gradient_bits", 1),
        ("gradient_bits", 33),
        ("rounding", "up"),
        ("subsample", 0.0),
        ("max_features", 1.01),
        ("early_stopping", "yes"),
        ("validation_fraction", 1.0),
        ("n_iter_no_change", 0),
        ("tol", -1e-9),
        ("seed", -1),
        ("seed", 2**63),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"setting training\.{name} refused"):
        TreeTraining(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("max_bins", 2), ("max_bins", 255), ("max_depth", 1), ("learning_rate", 1), ("subsample", 1)]
)
def test_a_value_at_its_bound_is_accepted(name: str, value: int) -> None:
    assert getattr(TreeTraining(**{name: value}), name) == value
