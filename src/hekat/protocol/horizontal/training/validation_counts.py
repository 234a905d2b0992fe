"""What a party counts of a model on its held-out rows, and the metrics that the sums of such counts tell.

All counts are whole numbers and their sums exact. So rows and hits equal the values over the pooled rows; a loss or
square is rounded once a party, by at most half of 2^-80 beside the rounding of floats; an AUC says by how much at most
it is off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.codec.counters import IntArray
from hekat.errors import DivergedError, InputError
from hekat.model import Model
from hekat.protocol.horizontal.settings import MAX_LOSS
from hekat.protocol.horizontal.training.score_bins import binned_auc, count_in_bins, places_of
from hekat.protocol.secure_sum.aggregation import Counter
from hekat.protocol.secure_sum.streamed_tensor import Tensors

SUM_UNITS = 2**80
LABEL_UNITS = 2**40
MAX_LABEL = 2**30
ROWS, LOSS, HITS = "validation/rows", "validation/loss", "validation/hits"
LABELS, LABEL_SQUARES = "validation/labels", "validation/label-squares"


@dataclass(frozen=True)
class HeldOutRows:
    """One party's held-out rows, standardised; labels are class numbers or, for a regression, float64."""

    features: Any = field(repr=False)
    labels: npt.NDArray[Any] = field(repr=False)

    def __len__(self) -> int:
        return int(self.labels.size)


def count_losses(model: Model, parameters: Tensors, rows: HeldOutRows, weight_max: int) -> list[Counter]:
    """Rows and the sum of their losses, penalty left out. Raises DivergedError where that is no loss to sum."""
    loss = model.data_loss(parameters, rows.features, rows.labels)
    if not 0 <= loss <= MAX_LOSS:
        raise DivergedError(
            "the model has no usable loss on the held-out rows",
            expected=f"a mean loss from 0 to {MAX_LOSS:g}",
            got="another one: training diverged, or a held-out row lies far from all others",
            cure="lower training.learning_rate, or look for rows or labels of another unit",
        )
    total = round(Fraction(loss) * len(rows) * SUM_UNITS)
    return [
        Counter(ROWS, len(rows), maximum=weight_max),
        Counter(LOSS, total, maximum=MAX_LOSS * SUM_UNITS * weight_max),
    ]


def count_hits(model: Model, parameters: Tensors, rows: HeldOutRows, weight_max: int) -> Counter:
    """How many rows the model puts into their class."""
    hits = np.count_nonzero(model.predict(parameters, rows.features) == rows.labels)
    return Counter(HITS, int(hits), maximum=weight_max)


def count_scores(
    model: Model, parameters: Tensors, rows: HeldOutRows, scored: Sequence[int], edges: IntArray, weight_max: int
) -> list[Counter]:
    """For each scored class, how many of its rows and of the others lie in each bin of its scores.

    A bin's upper edge is in its name: under protection `lattice` parties with other bins agree on no upload, so nobody
    can be given bins of its own, in which its rows would be told apart.
    """
    probabilities = model.predict_proba(parameters, rows.features)
    counters: list[Counter] = []
    for class_number, cut in zip(scored, edges, strict=True):
        places = places_of(probabilities, class_number)
        of_class = rows.labels == class_number
        for side, chosen in enumerate((~of_class, of_class)):
            counts = count_in_bins(places, chosen, cut)
            names = _bin_names(class_number, side, cut)
            counters += [Counter(name, int(n), weight_max) for name, n in zip(names, counts, strict=True)]
    return counters


def count_labels(labels: FloatArray, weight_max: int) -> list[Counter]:
    """The sums of a regression's labels, moved by MAX_LABEL so that none is negative, and of their squares.

    Raises InputError for a label beyond MAX_LABEL.
    """
    if labels.size and not float(np.abs(labels).max()) <= MAX_LABEL:
        raise InputError(
            "a label is too large to validate with",
            expected=f"magnitudes up to 2^{MAX_LABEL.bit_length() - 1}",
            got="a larger one among the held-out rows",
            cure="give labels a larger unit",
        )
    units = [round(label) for label in (labels * LABEL_UNITS).tolist()]
    moved = sum(units) + len(units) * MAX_LABEL * LABEL_UNITS
    return [
        Counter(LABELS, moved, maximum=2 * MAX_LABEL * LABEL_UNITS * weight_max),
        Counter(LABEL_SQUARES, sum(unit * unit for unit in units), (MAX_LABEL * LABEL_UNITS) ** 2 * weight_max),
    ]


def mean_loss_of(sums: Mapping[str, int]) -> Fraction:
    """The mean loss of all rows, without penalty."""
    return Fraction(sums[LOSS], SUM_UNITS * sums[ROWS])


def regression_metrics(sums: Mapping[str, int]) -> dict[str, float]:
    """ "rmse", and "r2" where the labels were summed and are not all equal."""
    mean_square = 2 * mean_loss_of(sums)
    metrics = {"rmse": math.sqrt(mean_square)}
    if LABELS in sums:
        mean = Fraction(sums[LABELS], LABEL_UNITS * sums[ROWS]) - MAX_LABEL
        variance = Fraction(sums[LABEL_SQUARES], LABEL_UNITS**2 * sums[ROWS]) - mean**2
        if variance > 0:
            metrics["r2"] = float(1 - mean_square / variance)
    return metrics


def score_metrics(histograms: Sequence[tuple[list[int], list[int]]]) -> dict[str, float]:
    """ "auc" and "auc_error", how far it is off at most, as means over classes; nothing where a class has no row."""
    found = [pair for histogram in histograms if (pair := binned_auc(*histogram)) is not None]
    if not found or len(found) < len(histograms):
        return {}
    return {name: math.fsum(pair[i] for pair in found) / len(found) for i, name in enumerate(("auc", "auc_error"))}


def histogram_of(sums: Mapping[str, int], class_number: int, cut: IntArray) -> tuple[list[int], list[int]]:
    """(the others' rows, the class's own rows) in each bin of its scores."""
    others, own = ([sums[name] for name in _bin_names(class_number, side, cut)] for side in (0, 1))
    return others, own


def _bin_names(class_number: int, side: int, cut: IntArray) -> list[str]:
    """The counters' names; `side` 1 is of the class, 0 of the others."""
    edges = [*cut.tolist(), "end"]
    return [f"validation/scores/{class_number}/{side}/{number}<{edge}" for number, edge in enumerate(edges)]
