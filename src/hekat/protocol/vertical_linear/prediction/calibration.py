"""Calibration: the guest fits the probabilities of a classification to its own labels, from scores of training rows.

Scores of the Taylor loss rank rows well, but their sigmoids are no probabilities. After training the parties predict
some of the training rows for the guest alone, and the guest fits probabilities to its labels: for two classes a and b
so that sigmoid(a u + b) fits best, for more a matrix and offsets so that the softmax of their scores does. From these
probabilities the parties move their shares of the weights to the log loss (`reweighting`). For two classes scores are
log-odds then. Where all training rows are scored, the guest learns the scores of the same rows once more, and the
parties move once more; with three classes or more it learns them once more, and fits again. This is left out where the
scores of a row tell as many combinations as the host has independent columns (`newton_steps`). What the guest fitted
stays in its part of the model. The guest learns what any prediction of these rows would tell it: their scores, to
2^-score_bits. Nobody else learns anything.
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
from hekat.protocol.vertical.row_order import draw_order
from hekat.protocol.vertical_linear.columns import prepare_targets
from hekat.protocol.vertical_linear.model_part import CALIBRATION, ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.calibrated import log_odds_of
from hekat.protocol.vertical_linear.prediction.newton_steps import agree_on_steps
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.protocol.vertical_linear.prediction.softmax_fit import fit_softmax
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.reweighting.reweight import fits, reweight
from hekat.protocol.vertical_linear.shared_weights.reweighting.working_rows import find_working_rows

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
    """Play this party's role: predict some of the training `rows` for the guest, which fits its probabilities to them,
    and move the weights to the log loss where the settings say so.

    Scores are told to 2^-score_bits, as the job's predictions, and no finer than to 2^-SCORE_BITS. Returns the part, at
    the guest with its calibration. Raises as `predict_scores` and `reweight`.
    """
    count = min(settings.calibration_rows, len(rows))
    if not count:
        return part
    chosen = np.sort(draw_order(len(rows), settings.training.seed)[:count])
    some, bits, is_part = rows.take(chosen), min(score_bits, SCORE_BITS), count < len(rows)
    may_move = fits(settings, len(rows), count)
    steps = agree_on_steps(channel, part, some, is_part=is_part) if may_move else 0
    scores = _learn_scores(channel, part, some, settings, run, bits)
    targets = None if scores is None else prepare_targets(rows, settings).values[chosen]
    fitted = None if scores is None or targets is None else fit_probabilities(scores, targets)
    moved = None
    if steps:
        working = None
        if scores is not None and targets is not None and fitted is not None:
            working = find_working_rows(scores, log_odds_of(scores, fitted), targets, is_part=is_part)
        moved = reweight(channel, part, some, settings, run, working)
    if moved is None:
        return part if fitted is None else replace(part, arrays={**part.arrays, CALIBRATION: fitted})
    if settings.column_count == 1 and steps == 1:
        return moved
    scores = _learn_scores(channel, moved, some, settings, run, bits, "after re-weighting, ")
    if settings.column_count > 1:
        again = None if scores is None or targets is None else fit_probabilities(scores, targets)
        return moved if again is None else replace(moved, arrays={**moved.arrays, CALIBRATION: again})
    working = None
    if scores is not None and targets is not None:
        working = find_working_rows(scores, scores, targets, is_part=False)
    return reweight(channel, moved, some, settings, run, working) or moved


def _learn_scores(
    channel: RecordedChannel,
    part: ModelPart,
    rows: Table,
    settings: VerticalLinearSettings,
    run: PartyRun,
    bits: int,
    when: str = "",
) -> FloatArray | None:
    """The scores of training `rows`, which the guest learns; None elsewhere."""
    told = f"the guest learns the scores of {len(rows):,} training rows, to 2^-{bits}, to fit probabilities to labels"
    channel.ledger.note("calibration", when + told, "disclosed")
    prediction = PredictionSettings(settings.guest, settings.hosts, (settings.guest,), bits)
    # Probabilities are fitted to the labels that training saw: nothing is corrected yet.
    scores = predict_scores(channel, replace(part, label_privacy=None), rows, prediction, run)
    return scores if channel.party == settings.guest else None


def fit_probabilities(scores: FloatArray, targets: FloatArray) -> FloatArray:
    """A calibration of `scores` (rows, K) on `targets` (rows, K) of -1 and 1, as ModelPart has it."""
    if scores.shape[1] > 1:
        return fit_softmax(scores, targets.argmax(axis=1))
    return np.array([fit_sigmoid(scores[:, 0], targets[:, 0] > 0)])


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
