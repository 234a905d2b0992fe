"""A vertical estimator that is told nothing but who holds which columns, and scikit-learn at its defaults."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error

from defaults.data_sets import DataSet
from defaults.horizontal_jobs import measure_scikit_learn
from hekat.estimator import VerticalLinearRegression, VerticalLogisticRegression
from hekat.scheme.paillier import KeyPair

PARTIES = ("guest", "host")


def measure_default_model(data: DataSet, keys: Mapping[str, KeyPair]) -> dict[str, Any]:
    """Scores on the test rows of the encrypted model, half of the columns at each of two parties, and of scikit-learn.

    Columns with one value among the training rows are left out, as a party is told to do.
    """
    parties, test = data.split()
    train = np.concatenate(parties)
    X = data.X[:, data.X[train].std(axis=0) > 0]
    half = X.shape[1] // 2
    columns = dict(zip(PARTIES, (slice(0, half), slice(half, X.shape[1])), strict=True))
    made = VerticalLogisticRegression if data.classes else VerticalLinearRegression
    model = made(columns=columns, keys=keys, key_bits=keys[PARTIES[0]].public.bits)
    start = time.perf_counter()
    model.fit(X[train], data.y[train])
    seconds = time.perf_counter() - start
    found = _metrics(model, data, X[test], data.y[test])
    reference = measure_scikit_learn(data, train, test)
    score = "accuracy" if data.classes else "r2"
    return {
        "data": data.name,
        "rows": len(data.y),
        "columns": X.shape[1],
        "classes": len(data.classes or ()),
        "score": score,
        "hekat": found[score],
        "scikit_learn": reference[score],
        "difference": found[score] - reference[score],
        "epochs": model.n_iter_,
        "seconds": seconds,
        "metrics": found,
        "scikit_learn_metrics": reference,
    }


def _metrics(model: Any, data: DataSet, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    if data.classes is None:
        answers = model.predict(X)
        r2 = 1.0 - float(np.sum((y - answers) ** 2) / np.sum((y - y.mean()) ** 2))
        return {"r2": r2, "rmse": float(root_mean_squared_error(y, answers))}
    answers = model.predict_proba(X)
    scores = answers[:, 1] if len(data.classes) == 2 else answers
    return {
        "accuracy": float(np.mean(model.classes_[answers.argmax(axis=1)] == y)),
        "log_loss": float(log_loss(y, answers)),
        "auc": float(roc_auc_score(y, scores, multi_class="ovr")),
    }
