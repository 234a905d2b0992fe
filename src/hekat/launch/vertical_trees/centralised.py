"""Compares the run with the plain booster on the joined rows, only on one machine and with its site's permission.

The same trees in the clear, with the same bins, rounding and joining of small bins; and scikit-learn's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.job.vertical_trees.job_file import TreesJob
from hekat.model.trees import bin_rows, bin_table, make_objective, train_plain
from hekat.protocol.vertical.label_privacy import correct_softmax
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.run.vertical.role import PartyOutcome
from hekat.summary.metrics_of_outputs import metrics_of_outputs
from hekat.summary.vertical.metrics import labels_of
from hekat.summary.vertical_trees.summary_shape import Compared, Result

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """What stands in the summary: how far scores are apart, and the metrics of the others."""

    compared: Compared
    results: list[Result]


def compare_centralised(
    job: TreesJob, outcomes: Mapping[str, PartyOutcome[TreesPart]], losses: Sequence[float | None]
) -> Comparison:
    """Train on the rows of all `outcomes` together for as many iterations as the run did; `losses` are the run's.

    With label privacy these trees grow on the same answers, and their scores are corrected alike.
    """
    settings = job.settings
    guest = outcomes[settings.guest]
    # The job has test data, and the guest receives its scores.
    assert guest.test_rows is not None
    assert guest.scores is not None
    labels, test_labels = labels_of(guest.rows, settings.classes), labels_of(guest.test_rows, settings.classes)
    rows = _join([outcomes[name].rows for name in settings.parties])
    test_rows = _join([one for name in settings.parties if (one := outcomes[name].test_rows) is not None])
    categories = _categories([outcomes[name].rows for name in settings.parties])
    training = replace(settings.training, max_iter=max(1, guest.part.iterations))
    table = bin_table(rows, training.max_bins, categories)
    objective = make_objective(0 if settings.classes is None else len(settings.classes))
    own = len(outcomes[settings.guest].part.columns)
    is_hosts = np.arange(table.column_count) >= own
    plain = train_plain(
        table,
        labels,
        objective,
        training,
        joined=is_hosts,
        first_without_joined=settings.label_party_first_trees,
    )
    scores = plain.ensemble.raw_scores(bin_rows(test_rows, table.bins)).T
    scores = correct_softmax(scores, settings.label_privacy, settings.classes)
    compared = Compared(
        rows=len(test_labels),
        largest_score_difference=float(np.abs(scores - guest.scores).max()),
        loss=losses[-1] if losses else None,
        centralised_loss=float(plain.losses[-1].training) if plain.losses else None,
    )
    results = [
        Result(
            name="centralised, plain trees",
            kind="centralised",
            metrics=metrics_of_outputs(settings.classes, scores, test_labels),
        ),
        _by_scikit_learn(job, rows, labels, test_rows, test_labels, categories, training.max_iter),
    ]
    return Comparison(compared, results)


def _join(tables: Sequence[Table]) -> FloatArray:
    return np.hstack([np.asarray(table.features, np.float64) for table in tables])


def _categories(tables: Sequence[Table]) -> list[int]:
    names = [(table, name) for table in tables for name in table.feature_names]
    return [number for number, (table, name) in enumerate(names) if name in table.categories]


def _by_scikit_learn(
    job: TreesJob,
    rows: FloatArray,
    labels: npt.NDArray[Any],
    test_rows: FloatArray,
    test_labels: npt.NDArray[Any],
    categories: list[int],
    iterations: int,
) -> Result:
    # Imported here: it takes longer than everything else a run imports, and only this comparison needs it.
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    training, classes = job.settings.training, job.settings.classes
    kind = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    model = kind(
        max_iter=iterations,
        learning_rate=training.learning_rate,
        max_depth=training.max_depth,
        max_leaf_nodes=training.max_leaf_nodes,
        min_samples_leaf=training.min_samples_leaf,
        l2_regularization=training.l2_regularization,
        max_bins=training.max_bins,
        early_stopping=False,
        categorical_features=categories or None,
        random_state=training.seed % 2**32,
    ).fit(rows, labels)
    if classes is None:
        scores = np.asarray(model.predict(test_rows))[:, np.newaxis]
    else:
        found = np.asarray(model.decision_function(test_rows))
        scores = found[:, np.newaxis] if found.ndim == 1 else found
        scores = correct_softmax(scores, job.settings.label_privacy, classes)
    metrics = metrics_of_outputs(classes, scores, test_labels)
    return Result(name="scikit-learn on the joined rows", kind="scikit-learn", metrics=metrics)
