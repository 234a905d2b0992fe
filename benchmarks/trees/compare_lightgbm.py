"""Held-out scores of the plain booster beside LightGBM and scikit-learn on the same bins."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from defaults.data_sets import DataSet, data_sets
from hekat.model import evaluate_numbers, evaluate_probabilities
from hekat.model.trees import BinnedTable, TreeTraining, bin_rows, bin_table, make_objective, train_plain

FloatArray = npt.NDArray[np.float64]

ALLOWED_AUC, ALLOWED_RMSE_PART = 0.002, 0.005
TEST_PART = 0.2
NAMES = ("UCI credit", "a9a", "breast cancer", "diabetes", "wine", "digits")
CREDIT_LIMIT = "UCI credit, limit"
GUEST_COLUMNS_OF_CREDIT = 13


def compared_data(folder: Path | None) -> Iterator[DataSet]:
    """Data that others made: of UCI credit the limit too, as a number to be predicted from the other columns."""
    for data in data_sets(folder):
        if data.name in NAMES:
            yield data
        if data.name == "UCI credit":
            yield DataSet(CREDIT_LIMIT, data.X[:, 1:], data.X[:, 0])
        if data.name == NAMES[-1]:  # The others are made for the training of weights.
            return


def compare(
    data: DataSet, training: TreeTraining, seeds: int, say: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """One row of the table: mean AUC, or RMSE, of held-out rows over `seeds` draws of a fifth of the rows.

    "hekat" rounds gradients as `training` says, and joins small bins of the columns that a host has: all but 13 of
    UCI credit, else the second half. "exact" has gradients of 30 bits and no joined bins. LightGBM and scikit-learn get
    the numbers of bins as values, and the same depth, rate, leaves and rows in a leaf. `say` hears of each draw.
    """
    scores: dict[str, list[float]] = {}
    for seed in range(seeds):
        stratify = data.y if data.classes else None
        train, test = train_test_split(
            np.arange(len(data.y)), test_size=TEST_PART, random_state=seed, stratify=stratify
        )
        table = bin_table(np.ascontiguousarray(data.X[train]), training.max_bins)
        held_out = bin_rows(np.ascontiguousarray(data.X[test]), table.bins)
        for name, predicted in _predictions(data, table, data.y[train], held_out, training).items():
            scores.setdefault(name, []).append(_score(data, predicted, data.y[test]))
        last = ", ".join(f"{name} {of_name[-1]:.4f}" for name, of_name in scores.items())
        say(f"{data.name}: draw {seed + 1} of {seeds}, {last}")
    means = {name: float(np.mean(of_name)) for name, of_name in scores.items()}
    difference = means["hekat"] - means["lightgbm"]
    if not data.classes:
        difference = -difference / means["lightgbm"]
    return {
        "data": data.name,
        "rows": len(data.y),
        "columns": data.X.shape[1],
        "metric": "AUC" if data.classes else "RMSE",
        **means,
        "better_than_lightgbm": difference,
        "allowed": ALLOWED_AUC if data.classes else ALLOWED_RMSE_PART,
        "spread": float(np.std(np.subtract(scores["hekat"], scores["lightgbm"]))),
    }


def joined_columns(data: DataSet) -> npt.NDArray[np.bool_]:
    """Which columns a host has."""
    count = data.X.shape[1]
    own = {"UCI credit": GUEST_COLUMNS_OF_CREDIT, CREDIT_LIMIT: GUEST_COLUMNS_OF_CREDIT - 1}.get(data.name, count // 2)
    return np.arange(count) >= own


def _predictions(
    data: DataSet, table: BinnedTable, y: npt.NDArray[Any], held_out: BinnedTable, training: TreeTraining
) -> dict[str, FloatArray]:
    """What each predicts for the held-out rows: numbers, or probabilities of all classes."""
    objective = make_objective(len(data.classes or ()))
    exact = TreeTraining(**{**vars(training), "gradient_bits": 30, "rounding": "nearest"})
    found = {}
    for name, of_name, joined in (("hekat", training, joined_columns(data)), ("exact", exact, None)):
        run = train_plain(table, y, objective, of_name, joined=joined)
        found[name] = objective.predict(run.ensemble.raw_scores(held_out))
    for name, model in (("lightgbm", _lightgbm(data, training)), ("scikit_learn", _scikit_learn(data, training))):
        with warnings.catch_warnings():
            # LightGBM names the columns of arrays itself, and scikit-learn then wonders where the names have gone.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            model.fit(table.digits.T.astype(np.float64), y)
            of_rows = held_out.digits.T.astype(np.float64)
            found[name] = model.predict_proba(of_rows) if data.classes else model.predict(of_rows)
    return found


def _lightgbm(data: DataSet, training: TreeTraining) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if data.classes else lightgbm.LGBMRegressor
    return kind(
        n_estimators=training.max_iter,
        learning_rate=training.learning_rate,
        max_depth=training.max_depth,
        num_leaves=2**training.max_depth,
        min_child_samples=training.min_samples_leaf,
        min_child_weight=training.min_child_weight,
        reg_lambda=training.l2_regularization,
        # Values are numbers of bins already, each to be its own bin.
        max_bin=255,
        min_data_in_bin=1,
        verbose=-1,
    )


def _scikit_learn(data: DataSet, training: TreeTraining) -> Any:
    kind = HistGradientBoostingClassifier if data.classes else HistGradientBoostingRegressor
    return kind(
        max_iter=training.max_iter,
        learning_rate=training.learning_rate,
        max_depth=training.max_depth,
        max_leaf_nodes=2**training.max_depth,
        min_samples_leaf=training.min_samples_leaf,
        l2_regularization=training.l2_regularization,
        early_stopping=False,
    )


def _score(data: DataSet, predicted: FloatArray, y: npt.NDArray[Any]) -> float:
    return evaluate_probabilities(predicted, y)["auc"] if data.classes else evaluate_numbers(predicted, y)["rmse"]
