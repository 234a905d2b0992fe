"""Validation without a common test set: every party holds rows out, and sums over all of them travel as counters.

Counters of the model at a round's start ride in the sum of that round's update; after the last round one sum more,
`validation/final`, validates the final model. A fold's model is measured once, by one sum at the end of its training.

Sums whose differences would tell a party's labels are taken only once, over all parties that are left, in that final
sum: a regression's sum of labels and of their squares always, and the classes' scores where a round's parties are only
a sample of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hekat.codec.counters import HIDING_BITS, IntArray
from hekat.data import Table, fold_rows, hold_out_rows
from hekat.model import Model
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.score_bins import cut_anew, first_edges
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.protocol.horizontal.training.validation_counts import (
    HITS,
    ROWS,
    HeldOutRows,
    count_hits,
    count_labels,
    count_losses,
    count_scores,
    histogram_of,
    mean_loss_of,
    regression_metrics,
    score_metrics,
)
from hekat.protocol.secure_sum.aggregation import Aggregation, Counter, sum_counters
from hekat.protocol.secure_sum.streamed_tensor import Tensors
from hekat.protocol.stopwatch import Stopwatch

FINAL_STEP = "validation/final"
"""The sum after the last round; the aggregator serves it by this name."""


def fold_group(fold: int) -> str:
    """The group of all sums of a fold: one set of parties is in all of them."""
    return f"fold-{fold}"


def fold_step(fold: int) -> str:
    """The sum that measures a fold's model on the rows of the fold."""
    return f"{fold_group(fold)}/validation"


@dataclass
class ValidationState:
    """What a checkpoint holds of validation, equal at every party."""

    by_round: dict[int, dict[str, float]] = field(default_factory=dict)
    """By round: metrics of the model at its start."""
    edges: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    """The bins of the next sum: a row of edges for each class whose scores are counted."""
    final: dict[str, float] | None = None
    """Metrics of the model that training ended with, once their sum was made."""

    def copy(self) -> ValidationState:
        """A state of one's own."""
        by_round = {number: dict(metrics) for number, metrics in self.by_round.items()}
        return ValidationState(by_round, self.edges.copy(), None if self.final is None else dict(self.final))

    @property
    def losses(self) -> list[float]:
        """The mean loss, without penalty, of each validation before the final one: what the stop rule reads."""
        return [m["log_loss"] if "log_loss" in m else m["rmse"] ** 2 / 2 for _, m in sorted(self.by_round.items())]


def hold_out(table: Table, settings: HorizontalSettings) -> tuple[Table, Table | None]:
    """(rows to train on, rows held out or None where the job holds out nothing), by the seed of training."""
    if not settings.validation.hold_out:
        return table, None
    return hold_out_rows(table, settings.validation.hold_out, settings.training.seed)


def split_fold(table: Table, fold: int, settings: HorizontalSettings) -> tuple[Table, Table]:
    """(rows to train the fold's model on, rows of the fold), by the seed of training. Raises InputError."""
    return fold_rows(table, fold, settings.validation.folds, settings.training.seed)


def check_rows_to_split(table: Table, settings: HorizontalSettings) -> None:
    """Raise InputError where rows cannot be held out, or cut into folds and measured, as the job says."""
    hold_out(table, settings)
    if settings.validation.folds:
        split_fold(table, 1, settings)
        if settings.classes is None and table.labels is not None:
            count_labels(table.labels, settings.weight_max)


def scored_classes(settings: HorizontalSettings) -> tuple[int, ...]:
    """The classes whose scores are counted: the second of two, or each of more against the rest; none without AUC."""
    validation = settings.validation
    if settings.classes is None or not (validation.is_on and validation.counts_scores):
        return ()
    return (1,) if len(settings.classes) == 2 else tuple(range(len(settings.classes)))


class Validation:
    """One party's side: counters of its held-out rows go out, metrics over all parties' held-out rows come back.

    Without held-out rows there are neither.
    """

    def __init__(
        self,
        model: Model,
        held_out: Table | None,
        standardiser: Standardiser,
        settings: HorizontalSettings,
        state: ValidationState,
        stopwatch: Stopwatch,
    ) -> None:
        """`state` is carried on: metrics are kept in it, bins cut anew. Raises InputError for labels beyond 2^30."""
        self._model, self._settings, self._state, self._stopwatch = model, settings, state, stopwatch
        self._standardiser = standardiser
        self._scored = scored_classes(settings)
        self._rows = None if held_out is None else _standardised(held_out, standardiser, settings)
        self._label_counters: list[Counter] = []
        if self._rows is not None and settings.classes is None:
            # Counted now, to find labels that cannot be summed before training begins.
            self._label_counters = count_labels(self._rows.labels, settings.weight_max)
        if self._scored and not state.edges.size:
            state.edges = np.tile(first_edges(settings.validation.bins), (len(self._scored), 1))

    def counters_for(self, number: int, parameters: Tensors) -> list[Counter]:
        """What goes with the update of round `number`: the first validates, and then every `validation.every`-th."""
        if (number - 1) % self._settings.validation.every:
            return []
        return self._count(parameters, final=False)

    def learn(self, number: int, sums: Mapping[str, int]) -> dict[str, float]:
        """Metrics of the model at the start of round `number`, from its sums; none where it did not validate.

        "rows" and "accuracy", "log_loss", or for a regression "rmse"; "auc" with "auc_error", how far it is off at
        most, where every class has a row.
        """
        if ROWS not in sums:
            return {}
        self._state.by_round[number] = self._read(sums, final=False)
        return dict(self._state.by_round[number])

    def finish(self, aggregation: Aggregation, parameters: Tensors, step: str = FINAL_STEP) -> None:
        """Validate the model that training ended with, in a sum of its own, once; a regression learns "r2" as well."""
        if self._rows is not None and self._state.final is None:
            value_bits = max(self._settings.codec.value_bits, HIDING_BITS)
            sums = sum_counters(aggregation, step, self._count(parameters, final=True), value_bits=value_bits)
            self._state.final = self._read(sums, final=True)

    def _count(self, parameters: Tensors, *, final: bool) -> list[Counter]:
        rows, weight_max = self._rows, self._settings.weight_max
        if rows is None:
            return []
        with self._stopwatch.measure("validate"):
            parameters = self._standardiser.in_label_units(self._model, parameters)
            counters = count_losses(self._model, parameters, rows, weight_max)
            if self._settings.classes is None:
                return counters + (self._label_counters if final else [])
            counters.append(count_hits(self._model, parameters, rows, weight_max))
            if self._counts_scores(final=final):
                edges = self._state.edges
                counters += count_scores(self._model, parameters, rows, self._scored, edges, weight_max)
            return counters

    def _counts_scores(self, *, final: bool) -> bool:
        return bool(self._scored) and (final or self._settings.sample_size == len(self._settings.parties))

    def _read(self, sums: Mapping[str, int], *, final: bool) -> dict[str, float]:
        metrics: dict[str, float] = {"rows": sums[ROWS]}
        if self._settings.classes is None:
            return metrics | regression_metrics(sums)
        metrics |= {"accuracy": sums[HITS] / sums[ROWS], "log_loss": float(mean_loss_of(sums))}
        if not self._counts_scores(final=final):
            return metrics
        edges = self._state.edges
        histograms = [histogram_of(sums, c, cut) for c, cut in zip(self._scored, edges, strict=True)]
        self._state.edges = np.array([cut_anew(cut, *h) for cut, h in zip(edges, histograms, strict=True)])
        return metrics | score_metrics(histograms)


def _standardised(held_out: Table, standardiser: Standardiser, settings: HorizontalSettings) -> HeldOutRows:
    assert held_out.labels is not None  # training refuses a table without labels before
    labels = held_out.labels.astype(np.float64 if settings.classes is None else np.int64)
    return HeldOutRows(standardiser.apply(held_out.features), labels)
