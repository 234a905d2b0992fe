"""The guest's scores as log-odds, where its part of the model has a calibration."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical.label_privacy import correct_log_odds
from hekat.protocol.vertical.label_privacy.corrected_odds import odds_against_others
from hekat.protocol.vertical_linear.model_part import CALIBRATION, ModelPart
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings

FloatArray = npt.NDArray[np.float64]


def apply_calibration(scores: FloatArray | None, part: ModelPart, settings: PredictionSettings) -> FloatArray | None:
    """Calibrated scores (rows, K) at a guest that alone receives them, of labels where training saw answers in their
    place; else the scores as they are.

    Other receivers do not know the calibration, so with them all receivers have the same uncalibrated scores.
    """
    if scores is None or settings.receivers != (part.guest,):
        return scores
    fitted = part.arrays.get(CALIBRATION)
    if fitted is not None:
        scores = log_odds_of(scores, fitted)
        scores = scores if fitted.shape[1] == 2 else odds_against_others(scores)
    return correct_log_odds(scores, part.label_privacy, part.classes)


def log_odds_of(scores: FloatArray, fitted: FloatArray) -> FloatArray:
    """What a calibration makes of `scores` (rows, K): log-odds of each class by itself, or with (K, K + 1) the values
    whose softmax gives the probabilities."""
    if fitted.shape[1] == 2:
        return np.asarray(scores * fitted[:, 0] + fitted[:, 1])
    return np.asarray(scores @ fitted[:, :-1].T + fitted[:, -1])
