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
    return np.asarray(scores * fitted[:, 0] + fitted[:, 1])
