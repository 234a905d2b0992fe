"""The softmax that fits the labels of three classes or more best, from one score a class."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

FloatArray = npt.NDArray[np.float64]

_MOST_STEPS: Final = 5000


def fit_softmax(scores: FloatArray, labels: npt.NDArray[np.int64]) -> FloatArray:
    """Slopes and offsets (K, K + 1) of log-odds: the softmax of scores @ slopes.T + offsets fits `labels` best.

    `scores` (rows, K), `labels` (rows,) class numbers. Slopes are penalised as scikit-learn does at C = 1, on scores of
    one spread together. A class that no row has gets the odds of less than one row. Raises InputError for scores that
    are no finite numbers.
    """
    # Imported here: it takes longer than everything else a run imports.
    from sklearn.linear_model import LogisticRegression

    if not np.isfinite(scores).all():
        raise InputError("scores are no numbers to fit probabilities to", expected="finite scores", got="others")
    row_count, class_count = scores.shape
    means, spread = scores.mean(axis=0), float(scores.std()) or 1.0
    found = np.zeros((class_count, class_count + 1))
    found[:, -1] = -np.log(row_count + class_count)
    present = np.unique(labels)
    if len(present) == 1:
        found[present, -1] = 0.0
        return found
    model = LogisticRegression(max_iter=_MOST_STEPS).fit((scores - means) / spread, labels)
    slopes, offsets = model.coef_ / spread, model.intercept_
    if len(present) == 2:
        # scikit-learn has one score for two classes, of the second one.
        slopes, offsets = np.vstack([-slopes, slopes]) / 2, np.concatenate([-offsets, offsets]) / 2
    found[present, :-1] = slopes
    found[present, -1] = offsets - slopes @ means
    missing = np.setdiff1d(np.arange(class_count), present)
    # Below the least of the others by the odds of less than one row, in every row.
    least = (scores @ found[present, :-1].T + found[present, -1]).min(initial=0.0)
    found[missing, -1] = least - np.log(row_count + class_count)
    return found
