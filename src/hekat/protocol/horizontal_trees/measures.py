"""What parties sum of losses and labels: counters whose sums are exact, and what is read from the sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.errors import DivergedError, InputError, ProtocolError
from hekat.model.trees import Objective
from hekat.protocol.horizontal.training.score_bins import count_in_bins, first_edges, places_of
from hekat.protocol.horizontal.training.validation_counts import score_metrics
from hekat.protocol.secure_sum.aggregation import Counter

LABEL_UNITS, MAX_LABEL = 2**40, 2**30
LOSS_UNITS, MAX_LOSS = 2**40, 2**60
LEAF_UNITS = 2**32
FIRST_BOUNDS, LATER_BOUNDS = 320, 64
"""How many bounds on gradients are told apart before the first tree, and later; each is 2^(1/4) times the next."""
SCORE_BINS = 256
"""Bins of the scores of held-out rows, for the AUC of the final model."""
TRAINING, HELD_OUT = "training", "held-out"


def label_counters(labels: npt.NDArray[Any], class_count: int, weight_max: int) -> list[Counter]:
    """Rows of each class, or the sum of a regression's labels, moved by MAX_LABEL each.

    Raises InputError for a label beyond that.
    """
    if class_count:
        counts = np.bincount(labels, minlength=class_count).tolist()
        return [Counter(f"class/{number}", count, weight_max) for number, count in enumerate(counts)]
    if labels.size and not float(np.abs(labels).max()) <= MAX_LABEL:
        raise InputError(
            "a label is too large",
            expected=f"magnitudes up to 2^{MAX_LABEL.bit_length() - 1}",
            got="a larger one",
            cure="give labels a larger unit",
        )
    total = sum(round(label) for label in (labels * LABEL_UNITS).tolist()) + labels.size * MAX_LABEL * LABEL_UNITS
    return [Counter("labels", total, 2 * MAX_LABEL * LABEL_UNITS * weight_max)]


def label_sums(sums: Mapping[str, int], class_count: int, row_count: int, step: str) -> FloatArray:
    """The sums that `Objective.start_scores` takes: of labels, of class 1 of two, or of every class.

    Raises ProtocolError where not every row is of one class, DivergedError where a class has no row.
    """
    if not class_count:
        return np.array([float(sums["labels"] / LABEL_UNITS - row_count * MAX_LABEL)])
    counts = [sums[f"class/{number}"] for number in range(class_count)]
    if sum(counts) != row_count:
        raise ProtocolError(
            f"rows by class do not fit together in {step}",
            expected="each row in one class",
            got="another sum",
            cure="a party counted other rows than before: compare release and job at all parties",
        )
    if min(counts) == 0:
        raise InputError(
            "a class has no row to train on at any party",
            expected="a row of each class",
            got=f"none of class number {counts.index(0)}",
            cure="leave that class out of the job, or hold out fewer rows",
        )
    return np.array(counts if class_count > 2 else counts[1:], dtype=np.float64)


def reach_counters(gradients: FloatArray, reach: FloatArray, bounds: int) -> list[Counter]:
    """For each tree, a 1 at the place of the least bound reach * 2^(-place / 4) that no gradient of this party passes.

    Shapes (trees, rows) and (trees,); there are so many `bounds`.
    """
    counters = []
    for tree, (values, most) in enumerate(zip(gradients, reach, strict=True)):
        largest = float(np.abs(values).max(initial=0.0))
        fitting = np.flatnonzero(largest <= _bounds_below(float(most), bounds))
        place = int(fitting[-1]) if fitting.size else 0
        counters += [Counter(f"reach/{tree}/{k}", int(k == place), 1) for k in range(bounds)]
    return counters


def read_reach(sums: Mapping[str, int], reach: FloatArray, bounds: int) -> FloatArray:
    """By tree, the largest bound that any party counted at."""
    found = []
    for tree, most in enumerate(reach):
        counted = [k for k in range(bounds) if sums[f"reach/{tree}/{k}"]]
        found.append(_bounds_below(float(most), bounds)[min(counted, default=0)])
    return np.array(found)


def _bounds_below(most: float, count: int) -> FloatArray:
    bounds: FloatArray = most * 2.0 ** (-np.arange(count) / 4)
    return bounds


def loss_counters(
    name: str, objective: Objective, scores: FloatArray, labels: npt.NDArray[Any], weight_max: int
) -> list[Counter]:
    """Rows, the sum of losses, and of classes the rows that fall into their class. `scores` are (trees, rows)."""
    losses = objective.row_losses(scores, labels)
    total = float(losses.sum())
    if not 0 <= total <= MAX_LOSS * max(1, labels.size):
        raise DivergedError(
            f"the model has no usable loss on the {name} rows",
            expected=f"a mean loss from 0 to {MAX_LOSS:g}",
            got="another one: training diverged, or a row lies far from all others",
            cure="lower training.learning_rate, or look for labels of another unit",
        )
    counters = [
        Counter(f"{name}/rows", int(labels.size), weight_max),
        Counter(f"{name}/loss", round(total * LOSS_UNITS), MAX_LOSS * LOSS_UNITS * weight_max),
    ]
    if objective.class_count:
        found = np.argmax(objective.predict(scores), axis=1) if labels.size else labels
        counters.append(Counter(f"{name}/hits", int(np.count_nonzero(found == labels)), weight_max))
    return counters


def read_losses(name: str, sums: Mapping[str, int], class_count: int) -> dict[str, float]:
    """ "rows" and "log_loss" and "accuracy", or "rmse"."""
    rows = sums[f"{name}/rows"]
    if rows == 0:
        raise ProtocolError(f"no party counted {name} rows", expected="one row or more", got="none")
    mean = sums[f"{name}/loss"] / LOSS_UNITS / rows
    if class_count:
        return {"rows": rows, "log_loss": mean, "accuracy": sums[f"{name}/hits"] / rows}
    return {"rows": rows, "rmse": math.sqrt(2 * mean)}


def score_counters(
    objective: Objective, scores: FloatArray, labels: npt.NDArray[Any], weight_max: int
) -> list[Counter]:
    """For each scored class, how many rows of it and of the others lie in each bin of the scores, (trees, rows)."""
    probabilities = objective.predict(scores)
    counters = []
    for number in _scored(objective.class_count):
        places = places_of(probabilities, number)
        for side, chosen in enumerate((labels != number, labels == number)):
            counts = count_in_bins(places, chosen, first_edges(SCORE_BINS)).tolist()
            counters += [Counter(f"scores/{number}/{side}/{k}", count, weight_max) for k, count in enumerate(counts)]
    return counters


def read_scores(sums: Mapping[str, int], class_count: int) -> dict[str, float]:
    """ "auc", and "auc_error", how far it is off at most, as means over classes; nothing where a class has no row."""
    histograms = []
    for number in _scored(class_count):
        others, own = ([sums[f"scores/{number}/{side}/{k}"] for k in range(SCORE_BINS)] for side in (0, 1))
        histograms.append((others, own))
    return score_metrics(histograms)


def _scored(class_count: int) -> tuple[int, ...]:
    """The second of two classes, or each of more against the rest; none of a regression."""
    return (1,) if class_count == 2 else tuple(range(class_count))


def loss_of(metrics: Mapping[str, float]) -> float:
    """The mean loss that metrics tell."""
    return metrics["log_loss"] if "log_loss" in metrics else metrics["rmse"] ** 2 / 2
