"""Calibration: the guest fits the probabilities of a classification to its own labels, from scores of training rows.

Scores of the Taylor loss rank rows well, but their sigmoids are no probabilities. After training the parties predict
some of the training rows for the guest alone, and for each column of scores u the guest finds a and b so that sigmoid(a
u + b) fits its labels best. a and b stay in the guest's part of the model. The guest learns what any prediction of
these rows would tell it: their scores, to 2^-score_bits. Nobody else learns anything.
Source: Platt 1999, "Probabilistic outputs for support vector machines"; Lin, Lin and Weng 2007, for the iteration.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.batches import draw_order
from hekat.protocol.vertical_linear.columns import prepare_targets
from hekat.protocol.vertical_linear.model_part import CALIBRATION, ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings

FloatArray = npt.NDArray[np.float64]

_STEPS: Final = 100
_ENOUGH: Final = 1e-10


def calibrate(
    channel: RecordedChannel,
    part: ModelPart,
    rows: Table,
    settings: VerticalLinearSettings,
    run: PartyRun,
    score_bits: int = SCORE_BITS,
) -> ModelPart:
    """Play this party's role: predict some of the training `rows` for the guest, which fits its probabilities to them.

    Scores are told to 2^-score_bits, as the job's predictions, and no finer than to 2^-SCORE_BITS. Returns the part, at
    the guest with its calibration. Raises as `predict_scores`.
    """
    count = min(settings.calibration_rows, len(rows))
    if not count:
        return part
    chosen = np.sort(draw_order(len(rows), settings.training.seed)[:count])
    bits = min(score_bits, SCORE_BITS)
    told = f"the guest learns the scores of {count} training rows, to 2^-{bits}, to fit probabilities to labels"
    channel.ledger.note("calibration", told, "disclosed")
    prediction = PredictionSettings(settings.guest, settings.hosts, (settings.guest,), bits)
    scores = predict_scores(channel, part, rows.take(chosen), prediction, run)
    if scores is None or channel.party != settings.guest:
        return part
    targets = prepare_targets(rows, settings).values[chosen]
    fitted = np.array([fit_sigmoid(scores[:, k], targets[:, k] > 0) for k in range(scores.shape[1])])
    return replace(part, arrays={**part.arrays, CALIBRATION: fitted})


def fit_sigmoid(scores: FloatArray, is_positive: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The a and b with which sigmoid(a u + b) has the least log-loss on labels that leave room for unseen rows.

    `scores` u and `is_positive` are (rows,). Labels are (n+ + 1) / (n+ + 2) and 1 / (n- + 2) instead of 1 and 0, so
    that rows that are told apart without an error give no probability of 0. Raises InputError for scores that are no
    finite numbers.
    """
    if not np.isfinite(scores).all():
        raise InputError("scores are no numbers to fit probabilities to", expected="finite scores", got="others")
    positive = int(is_positive.sum())
    wanted = np.where(is_positive, (positive + 1) / (positive + 2), 1 / (len(scores) - positive + 2))
    # Newton's steps on scores of one spread; the loss is convex, and a step that raises it is halved.
    spread = float(scores.std()) or 1.0
    columns = np.column_stack([scores / spread, np.ones(len(scores))])
    found = np.array([0.0, np.log((positive + 1) / (len(scores) - positive + 1))])
    loss = _log_loss(columns @ found, wanted)
    for _ in range(_STEPS):
        probability = _sigmoid(columns @ found)
        gradient = columns.T @ (probability - wanted) / len(scores)
        weights = probability * (1 - probability)
        curvature = columns.T @ (columns * weights[:, np.newaxis]) / len(scores)
        step = np.linalg.solve(curvature + 1e-9 * np.eye(2), gradient)
        share = 1.0
        while share > _ENOUGH and _log_loss(columns @ (found - share * step), wanted) > loss:
            share /= 2
        found = found - share * step
        before, loss = loss, _log_loss(columns @ found, wanted)
        if before - loss < _ENOUGH:
            break
    return float(found[0] / spread), float(found[1])


def _sigmoid(values: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(values / 2)))


def _log_loss(logits: FloatArray, wanted: FloatArray) -> float:
    return float(np.mean(np.logaddexp(0.0, logits) - wanted * logits))
