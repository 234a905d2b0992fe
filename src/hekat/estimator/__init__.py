"""Vertical and horizontal estimators in the shape of scikit-learn: fit, predict, score, and its cross-validation."""

from hekat.estimator.common_rows import CommonRows, find_common_rows
from hekat.estimator.cross_validation import cross_val_score
from hekat.estimator.horizontal_estimators import (
    HorizontalLinearRegression,
    HorizontalLogisticRegression,
    HorizontalMLPClassifier,
    HorizontalMLPRegressor,
)
from hekat.estimator.horizontal_trees import HorizontalGradientBoostingClassifier, HorizontalGradientBoostingRegressor
from hekat.estimator.linear_regression import VerticalLinearRegression
from hekat.estimator.logistic_regression import VerticalLogisticRegression
from hekat.estimator.vertical_network.estimators import VerticalNetworkClassifier, VerticalNetworkRegressor
from hekat.estimator.vertical_trees.estimators import (
    VerticalGradientBoostingClassifier,
    VerticalGradientBoostingRegressor,
)

__all__ = [
    "CommonRows",
    "HorizontalGradientBoostingClassifier",
    "HorizontalGradientBoostingRegressor",
    "HorizontalLinearRegression",
    "HorizontalLogisticRegression",
    "HorizontalMLPClassifier",
    "HorizontalMLPRegressor",
    "VerticalGradientBoostingClassifier",
    "VerticalGradientBoostingRegressor",
    "VerticalLinearRegression",
    "VerticalLogisticRegression",
    "VerticalNetworkClassifier",
    "VerticalNetworkRegressor",
    "cross_val_score",
    "find_common_rows",
]
