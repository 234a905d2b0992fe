"""How good a model is on rows it has not seen: the numbers in tables and reports."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.model.model import Model
from hekat.model.parameters import Features, FloatArray, Labels, Parameters


def evaluate(model: Model, params: Parameters, X: Features, y: Labels) -> dict[str, float]:
    """The metrics of `model` on the rows X, y: "accuracy", "log_loss", "auc", or for a regression "rmse", "r2".

    `log_loss` is in nats, without the penalty. `auc` of more than two classes is the mean over classes, each against
    the rest. A metric that the labels do not define is left out: `auc` where a class has no row, `r2` where all labels
    are equal. Raises InputError for no rows or arrays that do not fit.
    """
    data_loss = model.data_loss(params, X, y)
    if model.task == "regression":
        return _evaluate_regression(2.0 * data_loss, y)
    metrics = {"accuracy": float(np.mean(model.predict(params, X) == y)), "log_loss": data_loss}
    probabilities = model.predict_proba(params, X)
    if _has_all_classes(probabilities, y) and np.isfinite(probabilities).all():
        metrics["auc"] = _auc(probabilities, y)
    return metrics


def evaluate_probabilities(probabilities: FloatArray, y: Labels) -> dict[str, float]:
    """As `evaluate`, for given answers: `probabilities` (rows, classes) against class numbers (rows,).

    A probability of 0 for the true class counts as the smallest number above 0, so that `log_loss` is finite.
    """
    true = probabilities[np.arange(len(y)), y]
    metrics = {
        "accuracy": float(np.mean(probabilities.argmax(axis=1) == y)),
        "log_loss": float(-np.mean(np.log(np.maximum(true, np.finfo(np.float64).tiny)))),
    }
    if _has_all_classes(probabilities, y):
        metrics["auc"] = _auc(probabilities, y)
    return metrics


def evaluate_numbers(predicted: FloatArray, y: Labels) -> dict[str, float]:
    """As `evaluate`, for a regression's given answers (rows,)."""
    return _evaluate_regression(float(np.mean((predicted - y) ** 2)), y)


def _evaluate_regression(mean_square: float, y: Labels) -> dict[str, float]:
    metrics = {"rmse": float(np.sqrt(mean_square))}
    if np.ptp(y) > 0:
        metrics["r2"] = 1.0 - mean_square / float(np.var(y))
    return metrics


def _has_all_classes(probabilities: FloatArray, y: Labels) -> bool:
    # np.unique of numbers alone loads numpy.ma, at a tenth of a short command's time.
    return bool(len(set(y.tolist())) == probabilities.shape[1])


def _auc(probabilities: FloatArray, y: Labels) -> float:
    """The area under the ROC curve: of the second of two classes, or the mean over more, each against the rest."""
    if probabilities.shape[1] == 2:
        return _auc_of_class(probabilities[:, 1], y == 1)
    return float(np.mean([_auc_of_class(probabilities[:, k], y == k) for k in range(probabilities.shape[1])]))


def _auc_of_class(scores: FloatArray, is_class: npt.NDArray[np.bool_]) -> float:
    """The part of all pairs of a row of the class and another row in which the former scores higher; a tie is a half.

    Source: Mann and Whitney 1947. Counts are whole, so the sum is exact.
    """
    order = np.argsort(scores)
    ranked, own = scores[order], is_class[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    own_up_to, all_up_to = np.cumsum(own)[ends], ends + 1
    own_tied, tied = np.diff(own_up_to, prepend=0), np.diff(all_up_to, prepend=0)
    others_tied = tied - own_tied
    others_below = np.cumsum(others_tied) - others_tied
    own_count = int(own_up_to[-1])
    doubled = int(np.sum(own_tied * (2 * others_below + others_tied)))
    return doubled / (2 * own_count * (len(scores) - own_count))
