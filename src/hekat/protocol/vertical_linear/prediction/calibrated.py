"""The guest's scores as log-odds, where its part of the model has a calibration."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical_linear.model_part import CALIBRATION, ModelPart
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings

FloatArray = npt.NDArray[np.float64]


def apply_calibration(scores: FloatArray | None, part: ModelPart, settings: PredictionSettings) -> FloatArray | None:
    """Calibrated scores (rows, K) at a guest that alone receives them; else the scores as they are.

    Other receivers do not know the calibration, so with them all receivers have the same uncalibrated scores.
    """
    fitted = part.arrays.get(CALIBRATION)
    if scores is None or fitted is None or settings.receivers != (part.guest,):
        return scores
    if fitted.shape[1] == 2:
        return log_odds_of(scores, fitted)
    return odds_against_others(log_odds_of(scores, fitted))


def log_odds_of(scores: FloatArray, fitted: FloatArray) -> FloatArray:
    """What a calibration makes of `scores` (rows, K): log-odds of each class by itself, or with (K, K + 1) the values
    whose softmax gives the probabilities."""
    if fitted.shape[1] == 2:
        return np.asarray(scores * fitted[:, 0] + fitted[:, 1])
    return np.asarray(scores @ fitted[:, :-1].T + fitted[:, -1])


def odds_against_others(values: FloatArray) -> FloatArray:
    """Log-odds (rows, K) of each class against all others, from values whose softmax gives the probabilities: their
    sigmoids add up to 1."""
    found = np.empty_like(values)
    for column in range(values.shape[1]):
        others = np.delete(values, column, axis=1)
        found[:, column] = values[:, column] - np.logaddexp.reduce(others, axis=1)
    return found
