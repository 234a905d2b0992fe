"""Compares the run with training on the joined rows, only on one machine and with its site's permission.

The same objective in float64 with the same batches and optimiser, and scikit-learn's own regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import block_diag

from hekat.data import Features, is_dense
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.model import Parameters
from hekat.protocol.vertical.columns import apply_standardiser, prepare_columns
from hekat.protocol.vertical.label_privacy import correct_log_odds
from hekat.protocol.vertical.row_order import draw_order
from hekat.protocol.vertical_linear.columns import Targets, prepare_targets
from hekat.protocol.vertical_linear.mixing import MIXING, apply_mixing
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS, train_centralised
from hekat.protocol.vertical_linear.prediction.calibrated import apply_calibration, log_odds_of
from hekat.protocol.vertical_linear.prediction.calibration import fit_probabilities
from hekat.protocol.vertical_linear.prediction.newton_steps import count_independent_columns, newton_steps
from hekat.protocol.vertical_linear.shared_weights.reweighting.reweight import fits, is_worth
from hekat.protocol.vertical_linear.shared_weights.reweighting.weighted_step import find_penalty, reweight_plain
from hekat.protocol.vertical_linear.shared_weights.reweighting.working_rows import find_working_rows
from hekat.protocol.vertical_linear.training_settings import LinearTraining
from hekat.run.vertical.role import PartyOutcome
from hekat.summary.vertical.metrics import labels_of
from hekat.summary.vertical_linear.metrics_of_scores import metrics_of_scores
from hekat.summary.vertical_linear.summary_shape import Compared, Result

FloatArray = npt.NDArray[np.float64]
_MAX_ITERATIONS = 10_000


@dataclass(frozen=True)
class Comparison:
    """What stands in the summary: how far scores are apart, and the metrics of the others."""

    compared: Compared
    results: list[Result]


@dataclass(frozen=True)
class _Joined:
    """Prepared columns of all parties side by side, of training and test rows, and the guest's targets."""

    features: Features
    targets: Targets
    test_features: Features
    penalty: FloatArray | None
    """Of weights of mixed columns; None where columns are not mixed, or sparse."""


def compare_centralised(
    job: VerticalJob, outcomes: Mapping[str, PartyOutcome[ModelPart]], losses: Sequence[float | None]
) -> Comparison:
    """Train on the rows of all `outcomes` together for as many epochs as the run did; `losses` are the run's.

    With label privacy these models learn the same answers, and their scores are corrected alike.
    """
    settings = job.settings
    guest = outcomes[settings.guest]
    # The job has test data, and the guest receives its scores.
    assert guest.test_rows is not None
    assert guest.scores is not None
    training = replace(settings.training, epochs=len(losses))
    joined = _join(job, outcomes, settings.limit_spreads, is_mixed=settings.training.mixes_columns)
    parameters, loss = _train(joined, settings.task, training)
    parameters = _reweight(job, joined, parameters, outcomes)
    scores = apply_calibration(_scores(joined, parameters), guest.part, job.prediction)
    assert scores is not None
    compared = Compared(
        rows=len(guest.test_rows),
        largest_score_difference=float(np.abs(scores - guest.scores).max()),
        loss=losses[-1] if losses else None,
        centralised_loss=loss,
    )
    labels = labels_of(guest.test_rows, settings.classes)
    metrics = metrics_of_scores(settings.classes, scores, labels)
    results = [Result(name="centralised, same objective", kind="centralised", metrics=metrics)]
    if settings.task == "linear" or not settings.training.l1:
        # On the rows as they are: what a limit takes off them is this objective's own affair.
        unlimited = _join(job, outcomes, 0.0, is_mixed=False)
        peer = _train_with_scikit_learn(unlimited, settings.training, settings.task)
        peer = correct_log_odds(peer, settings.label_privacy, settings.classes)
        metrics = metrics_of_scores(settings.classes, peer, labels)
        results.append(Result(name="scikit-learn on the joined rows", kind="scikit-learn", metrics=metrics))
    return Comparison(compared, results)


def _join(
    job: VerticalJob, outcomes: Mapping[str, PartyOutcome[ModelPart]], limit: float, *, is_mixed: bool
) -> _Joined:
    settings = job.settings
    trained, tested, penalties = [], [], []
    for party in settings.parties:
        outcome = outcomes[party]
        columns = prepare_columns(
            outcome.rows, standardise=settings.training.standardise, limit_spreads=limit, may_be_empty=True
        )
        assert outcome.test_rows is not None
        mixing = outcome.part.arrays.get(MIXING) if is_mixed else None
        trained.append(apply_mixing(columns.features, mixing))
        if mixing is not None and mixing.ndim == 2:
            penalties.append(find_penalty(np.asarray(columns.features), mixing))
        new = outcome.test_rows.features
        tested.append(apply_mixing(apply_standardiser(new, columns.means, columns.spreads, limit), mixing))
    targets = prepare_targets(outcomes[settings.guest].rows, settings)
    penalty = block_diag(*penalties) if len(penalties) == len(settings.parties) else None
    return _Joined(_beside(trained), targets, _beside(tested), penalty)


def _beside(parts: list[Features]) -> Features:
    if all(is_dense(part) for part in parts):
        return np.hstack(parts)
    return sparse.csr_array(sparse.hstack(parts, format="csr"))


def _train(joined: _Joined, task: str, training: LinearTraining) -> tuple[Parameters, float | None]:
    """The weights after the last epoch, and its loss as the guest sees it: the mean over its batches."""
    parameters: Parameters = {}
    losses: list[float] = []
    for step in train_centralised(joined.features, joined.targets.values, task, training):
        parameters = step.parameters
        if step.batch >= 0 and step.epoch == training.epochs:
            losses.append(step.loss)
    return parameters, float(np.mean(losses)) if losses else None


def _reweight(
    job: VerticalJob, joined: _Joined, parameters: Parameters, outcomes: Mapping[str, PartyOutcome[ModelPart]]
) -> Parameters:
    """The weights after the Newton step of the calibration, where the run made one."""
    settings, row_count = job.settings, joined.features.shape[0]
    count = min(settings.calibration_rows, row_count)
    host = outcomes[settings.hosts[0]]
    if joined.penalty is None or not fits(settings, row_count, count):
        return parameters
    if not is_worth(joined.features.shape[1], len(host.part.columns), count, settings.column_count):
        return parameters
    chosen = np.sort(draw_order(row_count, settings.training.seed)[:count])
    rows, targets = np.asarray(joined.features)[chosen], joined.targets.values[chosen]
    weights = np.vstack([parameters[INTERCEPT], parameters[WEIGHTS]])
    scores, is_part = weights[0] + rows @ weights[1:], count < row_count
    log_odds = log_odds_of(scores, fit_probabilities(scores, targets))
    own, part = host.rows.take(chosen).features, host.part
    independent = count_independent_columns(apply_standardiser(own, part.means, part.spreads, part.limit_spreads))
    for _ in range(newton_steps(independent, settings.column_count, is_part=is_part)):
        working = find_working_rows(scores, log_odds, targets, is_part=is_part)
        weights = reweight_plain(rows, joined.penalty, weights, working, len(settings.parties))
        scores = log_odds = weights[0] + rows @ weights[1:]
    return {INTERCEPT: weights[0], WEIGHTS: weights[1:]}


def _scores(joined: _Joined, parameters: Parameters) -> FloatArray:
    scores = np.asarray(joined.test_features @ parameters[WEIGHTS] + parameters[INTERCEPT])
    return np.asarray(scores * joined.targets.spread + joined.targets.mean)


def _train_with_scikit_learn(joined: _Joined, training: LinearTraining, task: str) -> FloatArray:
    """Scores of the test rows by scikit-learn's model of the same penalties, each class against the rest.

    A logistic regression with l1 is left out by the caller: releases of scikit-learn differ in how it is asked for.
    """
    targets = joined.targets.values
    columns = [_fit(joined, targets[:, column], training, task) for column in range(targets.shape[1])]
    scores = np.column_stack(columns)
    return np.asarray(scores * joined.targets.spread + joined.targets.mean)


def _fit(joined: _Joined, target: FloatArray, training: LinearTraining, task: str) -> FloatArray:
    # Imported here: it takes longer than everything else a run imports, and only this comparison needs it.
    from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, Ridge

    l1, l2, row_count = training.l1, training.l2, len(target)
    model: Any
    if task == "logistic":
        model = LogisticRegression(C=1.0 / (row_count * l2) if l2 else np.inf, max_iter=_MAX_ITERATIONS)
        return np.asarray(model.fit(joined.features, target > 0).decision_function(joined.test_features))
    if l1:
        model = ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), max_iter=_MAX_ITERATIONS)
    else:
        model = Ridge(alpha=row_count * l2) if l2 else LinearRegression()
    return np.asarray(model.fit(joined.features, target).predict(joined.test_features))
